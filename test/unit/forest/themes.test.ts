import { describe, expect, test } from "vitest";
import { joinTheme, leastWardPair, startTheme, type Theme, uniteThemes } from "../../../src/forest/themes.ts";
import { stepAt } from "../../support/forest-steps.ts";

/** A theme at `seq`, rooted at `seq + 100`, of `count` messages with this vector. */
function themeAt(seq: number, vector: readonly number[] | undefined, count = 1): Theme {
  const embedding = vector === undefined ? undefined : new Float32Array(vector);
  const embeddings = new Array<Float32Array | undefined>(count).fill(embedding);
  return startTheme(stepAt(seq, { embeddings, messageCount: count, seqLast: seq + count - 1 }), 2);
}

/** Enough others, far from everything and each other, that no union of the themes in question is too large. */
const OTHERS = [themeAt(900, [50, -50], 40), themeAt(950, [-50, -50], 40)];

describe("startTheme and joinTheme", () => {
  test("count what the steps hold", () => {
    const theme = themeAt(3, [1, 0]);
    joinTheme(theme, stepAt(7, { seqLast: 8, messageCount: 2, tokenCount: 5, vector: [0, 1] }));
    expect(theme).toEqual({
      root: 103,
      sum: new Float32Array([1, 1]),
      vectorCount: 2,
      clusterCount: 1,
      messageCount: 3,
      tokenCount: 15,
      seqFirst: 3,
      seqLast: 8,
    });
  });
});

describe("uniteThemes", () => {
  test("adds one to the other in place, wherever it stands", () => {
    const theme = themeAt(5, [1, 0]);
    uniteThemes(theme, themeAt(2, [0, 1], 2));
    expect(theme).toEqual({
      root: 105,
      sum: new Float32Array([1, 2]),
      vectorCount: 3,
      clusterCount: 2,
      messageCount: 3,
      tokenCount: 20,
      seqFirst: 2,
      seqLast: 5,
    });
  });
});

describe("leastWardPair", () => {
  test("takes the least cost, of means and sizes", () => {
    // 2·1/(2+1) · |(1,0)−(0,1)|² = 2/3 · 2; the others are further away.
    const themes = [themeAt(0, [1, 0], 2), themeAt(10, [0, 1], 1), ...OTHERS];
    expect(leastWardPair(themes)).toEqual({ root: 100, absorbed: 110, cost: expect.closeTo(4 / 3, 5) });
  });

  test("prefers two small themes to a nearer one that is large", () => {
    // 10·1/11 · 1² = 0.91 against 1·1/2 · 1.2² = 0.72.
    const themes = [themeAt(0, [0, 0.0001], 10), themeAt(20, [1, 0]), themeAt(30, [2.2, 0]), ...OTHERS];
    expect(leastWardPair(themes)).toMatchObject({ root: 120, absorbed: 130, cost: expect.closeTo(0.72, 3) });
  });

  test("absorbs the theme of fewer clusters, whatever the messages", () => {
    const larger = themeAt(10, [1, 0]);
    uniteThemes(larger, themeAt(20, [1, 0]));
    const themes = [themeAt(0, [1, 0], 5), larger, ...OTHERS];
    expect(leastWardPair(themes)).toMatchObject({ root: 110, absorbed: 100 });
  });

  test("keeps the older root between equals, and the older pair, whichever way round they are given", () => {
    const themes = [themeAt(0, [1, 0]), themeAt(10, [1, 0]), themeAt(20, [1, 0]), ...OTHERS];
    expect(leastWardPair(themes)).toMatchObject({ root: 100, absorbed: 110, cost: 0 });
    expect(leastWardPair(themes.toReversed())).toMatchObject({ root: 100, absorbed: 110, cost: 0 });
  });

  test("leaves the nearest pair apart where it would hold more than 30 % of the messages", () => {
    const alike = [themeAt(0, [1, 0], 16), themeAt(20, [1, 0], 15)];
    const unlike = [themeAt(40, [0, 9], 15), themeAt(60, [9, 0], 15), themeAt(80, [-9, 0], 39)];
    expect(leastWardPair([...alike, ...unlike])).toMatchObject({ root: 120, absorbed: 160 }); // 31 of 100 together
    const roomier = themeAt(80, [-9, 0], 43);
    expect(leastWardPair([...alike, ...unlike.slice(0, 2), roomier])).toMatchObject({ root: 100, absorbed: 120 });
  });

  test("takes the pair of fewest messages where every pair would hold more", () => {
    const themes = [themeAt(0, [1, 0], 4), themeAt(10, [1, 0], 3), themeAt(20, [0, 1], 2)];
    expect(leastWardPair(themes)).toMatchObject({ root: 110, absorbed: 120 });
  });

  test("unites a theme without vectors first, at no cost", () => {
    const themes = [themeAt(0, [1, 0]), themeAt(10, undefined), ...OTHERS];
    expect(leastWardPair(themes)).toEqual({ root: 100, absorbed: 110, cost: 0 });
  });

  test("refuses fewer than two", () => {
    expect(() => leastWardPair([themeAt(0, [1, 0])])).toThrow("two themes are needed to unite");
  });
});
