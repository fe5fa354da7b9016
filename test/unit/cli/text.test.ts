import { describe, expect, test } from "vitest";
import { formatBytes, formatCount, oneLine } from "../../../src/cli/text.ts";

test("oneLine shows line breaks as a symbol", () => {
  expect(oneLine("a\r\nb\n\tc\u202e")).toBe("a↵b↵ c[U+202E]");
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
