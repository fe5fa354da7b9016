import { describe, expect, test } from "vitest";
import { relativeTime, relativeTimes } from "../../../src/core/named-times.ts";
import { timeOf } from "../../../src/core/times.ts";

/** A Wednesday, in local time. */
const NOW = new Date(2026, 10, 11, 1, 30).getTime();

const days = (first: number, next: number) => ({
  fromMs: new Date(2026, 10, first).getTime(),
  toMs: new Date(2026, 10, next).getTime() - 1,
});

const CASES = [
  ["today", days(11, 12)],
  ["yesterday", days(10, 11)],
  ["last week", days(2, 9)],
  ["this week", days(9, 16)],
  ["last weekend", days(7, 9)],
  ["last month", days(-30, 1)],
  ["on monday", days(9, 10)],
  ["last Wednesday", days(4, 5)],
  ["three days ago", days(8, 9)],
  ["a day ago", days(10, 11)],
  ["0 days ago", days(11, 12)],
] as const;

describe("a time relative to now is in the local time zone", () => {
  test.each(CASES)("%s", (words, range) => {
    expect(relativeTimes(`what did we do ${words} about it?`, NOW)).toEqual([range]);
    expect(relativeTime(words, NOW)).toEqual(range);
  });
});

test("a weekday alone is the last one, and other words are no time", () => {
  expect(relativeTime("Monday", NOW)).toEqual(days(9, 10));
  expect(relativeTime("last  Week ", NOW)).toEqual(days(2, 9));
  for (const words of ["yesterday evening", "weekly", "since yesterday", ""]) {
    expect(relativeTime(words, NOW)).toBeUndefined();
  }
});

test("an option takes the same words, and means their first or last moment", () => {
  const midnight = new Date().setHours(0, 0, 0, 0);
  expect(timeOf("since", "today", "first")).toBe(midnight);
  expect(timeOf("until", "yesterday", "last")).toBe(midnight - 1);
});
