import { describe, expect, test } from "vitest";
import { formatBytes, formatCount, formatMoment, oneLine } from "../../../src/cli/screen/text.ts";

test("oneLine shows line breaks as a symbol", () => {
  expect(oneLine("a\r\nb\n\tc\u202e")).toBe("a↵b↵ c[U+202E]");
});

test("formatMoment names the days of the last week, and writes the date of any other", () => {
  const now = new Date(2026, 10, 23, 9, 30).getTime(); // a Monday
  const at = (day: number, hour: number) => formatMoment(new Date(2026, 10, day, hour, 5).getTime(), now);
  expect([at(23, 0), at(22, 23), at(20, 14), at(17, 8)]).toEqual([
    "today 00:05",
    "yesterday 23:05",
    "Friday 14:05",
    "Tuesday 08:05",
  ]);
  expect([at(16, 10), at(24, 1)]).toEqual(["2026-11-16 10:05", "2026-11-24 01:05"]);
  expect(formatMoment(Number.MAX_SAFE_INTEGER, now)).toBe("unknown time");
});

test("formatCount distinguishes one and many", () => {
  expect([formatCount(0, "message"), formatCount(1, "message"), formatCount(12_345, "message")]).toEqual([
    "0 messages",
    "1 message",
    "12,345 messages",
  ]);
  expect(formatCount(2, "row of the log", "rows of the log")).toBe("2 rows of the log");
});

describe("formatBytes", () => {
  test.each([
    [0, "0 bytes"],
    [999, "999 bytes"],
    [1_000, "1.0 kB"],
    [221_184, "221.2 kB"],
    [1_500_000, "1.5 MB"],
    [2_000_000_000_000_000, "2000.0 TB"],
  ])("%i is %s", (byteLength, text) => {
    expect(formatBytes(byteLength)).toBe(text);
  });
});
