import { describe, expect, test } from "vitest";
import { idfOf } from "../../../src/recall/bm25.ts";
import { affordable, type QueryTerm, rarest } from "../../../src/recall/query-terms.ts";

function term(word: string, messageCount: number, more: Partial<QueryTerm> = {}): QueryTerm {
  return { word, stem: word, count: 1, isQuoted: false, messageCount, ...more };
}

const wordsOf = (terms: readonly QueryTerm[]): string[] => terms.map(({ word }) => word);

describe("the words that are searched", () => {
  test("are the rarest, as long as they can be read in time", () => {
    const terms = [term("a", 6_000), term("b", 5_000), term("c", 10), term("d", 4_000), term("e", 2_000)];
    expect(wordsOf(affordable(terms, 15_000))).toEqual(["c", "e", "d", "b"]);
  });

  test("are two at least, however common", () => {
    const terms = [term("a", 900_000), term("b", 800_000), term("c", 700_000), term("d", 600_000)];
    expect(wordsOf(affordable(terms, 15_000))).toEqual(["d", "c"]);
  });

  test("are more where more may be read", () => {
    const terms = [term("a", 40_000), term("b", 9_000), term("c", 10), term("d", 8_000)];
    expect(wordsOf(affordable(terms, 75_000))).toEqual(["c", "d", "b", "a"]);
  });

  test("are all that are quoted, and none that no message has", () => {
    const terms = [term("a", 400_000, { isQuoted: true }), term("b", 2), term("c", 1), term("d", 3), term("e", 0)];
    expect(wordsOf(affordable(terms, 15_000))).toEqual(["c", "b", "d", "a"]);
  });
});

describe("of a long query", () => {
  const query = (words: readonly string[]) =>
    words.map((word) => ({ word, stem: word, count: 1, isQuoted: word === "quoted" }));

  test("sixty-four words are left: those that the index knows least, and no more than half that it does not know", () => {
    const known = Array.from({ length: 100 }, (_, index) => `k${index}`);
    const unknown = Array.from({ length: 100 }, (_, index) => `u${"x".repeat(index)}`);
    const left = wordsOf(
      rarest(query([...known, ...unknown, "quoted"]), (stem) =>
        stem[0] === "u" ? 0 : Number(stem.slice(1)) + 1 || 500,
      ),
    );
    expect(left).toHaveLength(64);
    expect(left.slice(0, 32)).toEqual(["quoted", ...known.slice(0, 31)]);
    expect(left.slice(32)).toEqual(unknown.slice(68).toReversed());
  });

  test("unknown words have the places that known ones leave", () => {
    const unknown = Array.from({ length: 100 }, (_, index) => `u${index}`);
    expect(rarest(query(["k", ...unknown]), (stem) => (stem === "k" ? 5 : 0))).toHaveLength(64);
  });

  test("a short one is left whole", () => {
    expect(wordsOf(rarest(query(["b", "a"]), () => 0))).toEqual(["b", "a"]);
  });
});

test("a word tells the less the more messages have it, and never less than nothing", () => {
  expect(idfOf(1, 2)).toBeCloseTo(Math.LN2, 12);
  expect(idfOf(2, 2)).toBeCloseTo(0.182322, 6);
  expect(idfOf(0, 0)).toBeCloseTo(Math.LN2, 12);
  expect(idfOf(12, 10)).toBeGreaterThan(0); // a count that is out of date
});
