import { describe, expect, test } from "vitest";
import type { Part } from "../../../src/core/message.ts";
import { cutAtGrapheme, describeFile, textOf } from "../../../src/core/text.ts";

const FAMILY = "👨‍👩‍👧‍👦"; // one grapheme of 11 UTF-16 units

const resultOf = (content: Extract<Part, { type: "tool_result" }>["content"]): Part[] => [
  { type: "tool_result", toolCallId: "c1", content },
];

describe("textOf", () => {
  test("joins text parts, and has no reasoning", () => {
    const parts: Part[] = [
      { type: "text", text: "first" },
      { type: "reasoning", text: "thinking" },
      { type: "text", text: "" },
      { type: "text", text: "second" },
    ];
    expect(textOf(parts)).toBe("first\nsecond");
  });

  test("has of a call its name and the strings in its arguments, in order", () => {
    const args = { path: "src/a.ts", lines: [1, 2], edits: [{ old: "x", new: "y", all: true }], note: null };
    expect(textOf([{ type: "tool_call", toolCallId: "c1", name: "edit", args }])).toBe("edit\nsrc/a.ts\nx\ny");
  });

  test("has a short result whole, and of its parts each", () => {
    expect(textOf(resultOf("exit 0\n"))).toBe("exit 0\n");
    expect(
      textOf(
        resultOf([
          { type: "text", text: "see" },
          { type: "file", mediaType: "image/png", name: "a.png", data: "AAAA" },
          { type: "data", data: { rows: ["one", 2] } },
        ]),
      ),
    ).toBe('see\nimage/png "a.png" (3 bytes)\none');
  });

  test("has of a long result 1,500 characters of its head, its error lines and 500 of its tail", () => {
    const output = `${"h".repeat(1_500)}plain\n  Error: disk full  \nplain again\nassertEqual broke\n${"t".repeat(500)}`;
    expect(textOf(resultOf(output))).toBe(
      `${"h".repeat(1_500)}\nError: disk full\nassertEqual broke\n${"t".repeat(500)}`,
    );
  });

  test("has at most twenty error lines of a result, each of at most 300 characters", () => {
    const line = `fatal: ${"x".repeat(400)}`;
    const output = `${"h".repeat(1_500)}${`${line}\n`.repeat(30)}${"t".repeat(500)}`;
    const errors = textOf(resultOf(output)).split("\n").slice(1, -1);
    expect(errors).toEqual(Array(20).fill(`fatal: ${"x".repeat(293)}`));
  });

  test("has of a file its type, name, size and address, and never its bytes", () => {
    expect(describeFile({ mediaType: "image/png" })).toBe("image/png");
    expect(describeFile({ mediaType: "image/png", url: "https://a.example/b.png" })).toBe(
      "image/png https://a.example/b.png",
    );
    expect(describeFile({ mediaType: "image/png", url: "data:image/png;base64,AAAA" })).toBe("image/png (3 bytes)");
    expect(describeFile({ mediaType: "image/svg+xml", url: "data:image/svg+xml,%3Csvg/%3E" })).toBe("image/svg+xml");
    expect(describeFile({ mediaType: "a/b", url: `https://a.example/${"x".repeat(1_000)}` })).toBe(
      `a/b https://a.example/${"x".repeat(182)}`,
    );
    // 16,460 letters and two signs of padding are 12,345 bytes.
    expect(describeFile({ mediaType: "a/b", name: "c", data: `${"A".repeat(16_460)}==` })).toBe(
      'a/b "c" (12,345 bytes)',
    );
  });

  test("is not held up by a megabyte of padding that ends in a letter", () => {
    expect(describeFile({ mediaType: "a/b", data: `${"=".repeat(999_999)}A` })).toBe("a/b (750,000 bytes)");
  });

  test("holds 8,000 graphemes at most and cuts none", () => {
    expect(textOf([{ type: "text", text: "é".repeat(9_000) }])).toHaveLength(8_000);
    const families = textOf([{ type: "text", text: FAMILY.repeat(2_000) }]);
    expect(families).toBe(FAMILY.repeat(727)); // 7,997 units: another would be past 8,000
  });

  test("is well-formed and has no NUL, whatever was said", () => {
    expect(textOf([{ type: "text", text: "a\0b\ud800c\udc00" }])).toBe("a b\ufffdc\ufffd");
  });

  test("is empty where there are no words to have", () => {
    expect(textOf([])).toBe("");
    expect(textOf([{ type: "reasoning", text: "hm" }])).toBe("");
    expect(textOf(resultOf([]))).toBe("");
  });
});

describe("cutAtGrapheme", () => {
  test.each([
    ["abc", 3, "abc"],
    ["abc", 2, "ab"],
    ["abc", 0, ""],
    [`a${FAMILY}b`, 12, `a${FAMILY}`],
    [`a${FAMILY}b`, 11, "a"],
    ["e\u0301e\u0301", 3, "e\u0301"],
    ["a\r\nb", 2, "a"],
  ])("cuts %j at %i to %j", (text, charsMax, expected) => {
    expect(cutAtGrapheme(text, charsMax)).toBe(expected);
  });

  test("cuts through marks piled higher than any letter has them", () => {
    expect(cutAtGrapheme(`a${"\u0301".repeat(1_000)}`, 500)).toHaveLength(500);
  });
});
