import { expect, test } from "vitest";
import { readingOf } from "../../../src/summaries/reading.ts";

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
