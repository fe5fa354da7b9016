import { describe, expect, test } from "vitest";
import { type SpanRule, spanRuleOf } from "../../../src/core/options.ts";
import { sessionSettings } from "../../../src/core/settings.ts";
import { type Filling, isFull, splitContext } from "../../../src/summaries/split.ts";

/** A step of one message every hundred tokens, unless told otherwise. */
function filling(tokens: readonly number[], fields: Partial<Filling> = {}, seqFrom = 0): Filling {
  const steps = tokens.map((tokenCount, index) => {
    const seq = seqFrom + index;
    return { seqFirst: seq, seqLast: seq, messageCount: 1, tokenCount, open: false };
  });
  return { pinnedTokens: 0, summary: undefined, steps, ...fields };
}

const hundreds = (count: number): number[] => Array.from({ length: count }, () => 100);
const flat = spanRuleOf("flat", sessionSettings({}));
const sandwich = spanRuleOf("sandwich", sessionSettings({}));

/** As it happens by itself, or as the caller asks. */
function split(context: Filling, rule: SpanRule, tokensMax: number, isAsked: boolean) {
  return isAsked || isFull(context, rule, tokensMax) ? splitContext(context, rule, tokensMax) : "below_trigger";
}

describe("a flat context of 1,000 tokens", () => {
  test("is left alone up to its trigger, unless the caller asks", () => {
    expect(split(filling(hundreds(7)), flat, 1_000, false)).toBe("below_trigger");
    expect(split(filling(hundreds(7)), flat, 1_000, true)).toEqual({ seqFirst: 0, seqLast: 3 });
    expect(split(filling(hundreds(8)), flat, 1_000, false)).toEqual({ seqFirst: 0, seqLast: 4 });
  });

  test("divides what the pinned messages leave", () => {
    // 500 tokens are left: full past 350, the newest 150 stay.
    const pinnedTokens = 500;
    expect(split(filling(hundreds(3), { pinnedTokens }), flat, 1_000, false)).toBe("below_trigger");
    expect(split(filling(hundreds(4), { pinnedTokens }), flat, 1_000, false)).toEqual({ seqFirst: 0, seqLast: 2 });
  });

  test("is not cut where the pinned messages leave a summary no room", () => {
    const context = (pinnedTokens: number) => filling(hundreds(9), { pinnedTokens });
    expect(split(context(501), flat, 1_000, false)).toBe("nothing_to_compress");
    expect(split(context(500), flat, 1_000, false)).toEqual({ seqFirst: 0, seqLast: 7 });
  });

  test("counts what is pinned, and the summary that it stands on", () => {
    expect(split(filling(hundreds(7), { pinnedTokens: 1 }), flat, 1_000, false)).toEqual({
      seqFirst: 0,
      seqLast: 4,
    });
    const summary = { seqFirst: 0, seqLast: 9, tokenCount: 101, topTokens: 0 };
    expect(split(filling(hundreds(6), { summary }, 10), flat, 1_000, false)).toEqual({
      seqFirst: 0,
      seqLast: 12,
    });
    const shorter = { ...summary, tokenCount: 100 };
    expect(split(filling(hundreds(6), { summary: shorter }, 10), flat, 1_000, false)).toBe("below_trigger");
  });

  test("keeps its newest step however large that is, and says when that is all", () => {
    expect(split(filling([100, 900]), flat, 1_000, false)).toEqual({ seqFirst: 0, seqLast: 0 });
    expect(split(filling([900]), flat, 1_000, false)).toBe("nothing_to_compress");
    expect(split(filling(hundreds(3)), flat, 1_000, true)).toBe("nothing_to_compress");
    expect(split(filling([]), flat, 1_000, true)).toBe("nothing_to_compress");
  });
});

describe("a sandwich of 1,000 tokens", () => {
  test("keeps two tenths at its top and three at its end", () => {
    expect(split(filling(hundreds(8)), sandwich, 1_000, false)).toBe("below_trigger");
    expect(split(filling(hundreds(9)), sandwich, 1_000, false)).toEqual({ seqFirst: 2, seqLast: 5 });
  });

  test("keeps its top where the first split has put it", () => {
    const summary = { seqFirst: 2, seqLast: 5, tokenCount: 50, topTokens: 200 };
    expect(split(filling(hundreds(6), { summary }, 6), sandwich, 1_000, false)).toBe("below_trigger");
    expect(split(filling(hundreds(7), { summary }, 6), sandwich, 1_000, false)).toEqual({
      seqFirst: 2,
      seqLast: 9,
    });
  });

  test("counts of a top that is larger than its own only what it shows", () => {
    const summary = { seqFirst: 8, seqLast: 9, tokenCount: 50, topTokens: 800 };
    expect(split(filling(hundreds(6), { summary }, 10), sandwich, 1_000, false)).toBe("below_trigger");
    expect(split(filling(hundreds(7), { summary }, 10), sandwich, 1_000, false)).toEqual({ seqFirst: 8, seqLast: 13 });
  });

  test("says when its middle has too few messages to be worth a summary", () => {
    expect(split(filling(hundreds(8)), sandwich, 1_000, true)).toBe("middle_too_small");
    expect(split(filling([100, 100, 300, 300, 300]), sandwich, 1_000, false)).toBe("middle_too_small");
    expect(split(filling(hundreds(5)), sandwich, 1_000, true)).toBe("nothing_to_compress");
    expect(split(filling(hundreds(3)), sandwich, 1_000, true)).toBe("nothing_to_compress");
  });

  test("has no top where the first step is larger than it", () => {
    expect(split(filling([300, ...hundreds(6)]), sandwich, 1_000, false)).toEqual({ seqFirst: 0, seqLast: 3 });
  });
});
