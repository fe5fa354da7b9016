import { describe, expect, test } from "vitest";
import { formatBytes, formatCount, oneLine, printable } from "../../../src/cli/text.ts";

describe("printable", () => {
  test("shows control characters instead of obeying them", () => {
    expect(printable("\u001b]52;c;aGk=\u0007 \u0000 \u007f \u009b2J")).toBe("␛]52;c;aGk=␇ ␀ ␡ \ufffd2J");
  });

  test("keeps line feeds, tabs and all letters", () => {
    expect(printable("a\r\n\tb\nČ 灯台 👩‍👩‍👧")).toBe("a\n\tb\nČ 灯台 👩‍👩‍👧");
  });

  test("shows a carriage return in the middle of a line, which would overwrite the line", () => {
    expect(printable("safe\rrm -rf")).toBe("safe␍rm -rf");
  });
});

test("oneLine shows line breaks as a symbol", () => {
  expect(oneLine("a\r\nb\n\tc")).toBe("a↵b↵ c");
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
