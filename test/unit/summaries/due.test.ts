import { expect, test } from "vitest";
import { isDue, readingOf } from "../../../src/summaries/due.ts";

test.each<[string, number, number[], boolean]>([
  ["a theme without a summary: from the setting on", 200, [], true],
  ["not below it", 199, [], false],
  ["one with a summary: from twice that and the setting on", 900, [250], true],
  ["not before", 899, [250], false],
  ["however short the summary", 400, [1], false],
  ["one that stands on several: by all that are repeated", 1_399, [250, 250], false],
  ["one that stands on three", 0, [10, 10, 10], false],
  ["one that stands on more, whatever is new", 0, [10, 10, 10, 10], true],
])("%s", (_, uncoveredTokens, summaryTokens, expected) => {
  expect(isDue(uncoveredTokens, summaryTokens, 200)).toBe(expected);
});

const summary = (readingDepth: number, sourceTokenCount: number) => ({ readingDepth, sourceTokenCount });

test("the first reading is a full one", () => {
  expect(readingOf([], 100_000)).toEqual({ readInFull: true, readingDepth: 0 });
});

test("six versions build on the last; the seventh reads in full again", () => {
  expect(readingOf([summary(5, 6_000)], 7_000)).toEqual({ readInFull: false, readingDepth: 6 });
  expect(readingOf([summary(6, 7_000)], 8_000)).toEqual({ readInFull: true, readingDepth: 0 });
});

test("of several parts the deepest counts, and what all of them cover", () => {
  expect(readingOf([summary(1, 4_000), summary(6, 3_000)], 8_000)).toEqual({
    readInFull: true,
    readingDepth: 0,
  });
  expect(readingOf([summary(1, 4_000), summary(6, 3_900)], 8_000).readInFull).toBe(false);
});

test("not past the limit, and not while most has been read in full before", () => {
  expect(readingOf([summary(6, 9_001)], 10_001)).toEqual({ readInFull: false, readingDepth: 7 });
  expect(readingOf([summary(6, 9_500)], 10_000)).toEqual({ readInFull: false, readingDepth: 7 });
});

/** Goal: however long a theme grows, its full readings together read no more than twice what it holds. */
test("full readings stay in proportion", () => {
  let [tokenCount, depth, read] = [500, 0, 0];
  for (let version = 0; version < 200; version++) {
    const next = tokenCount + 400;
    const { readInFull, readingDepth } = readingOf([summary(depth, tokenCount)], next, Number.POSITIVE_INFINITY);
    [tokenCount, depth] = [next, readingDepth];
    if (readInFull) read += next;
  }
  expect(read).toBeGreaterThan(0);
  expect(read).toBeLessThan(2 * tokenCount);
});
