import { describe, expect, test } from "vitest";
import { beginningThatFits, cutLine, oneLine, plainText } from "../../../src/models/lines.ts";

describe("plainText", () => {
  test("takes out terminal colors, titles and control characters", () => {
    expect(plainText("\u001b[1;31mred\u001b[0m \u001b]0;title\u0007end\u0000!")).toBe("red end !");
  });

  test("keeps line breaks and tabs", () => {
    expect(plainText("a\n\tb\rc")).toBe("a\n\tb\nc");
  });

  test("replaces half characters, and only those", () => {
    expect(plainText("\ud83d \ud83d\ude00 \udc00")).toBe("\ufffd 😀 \ufffd");
  });
});

describe("oneLine", () => {
  test("makes every run of white space one space", () => {
    expect(oneLine("  a \n\n b\t c ")).toBe("a b c");
  });
});

describe("cutLine", () => {
  test("leaves a line that is short enough", () => {
    expect(cutLine("a line", 6)).toBe("a line");
  });

  test("cuts between words", () => {
    expect(cutLine("one two three four", 16)).toBe("one two three…");
  });

  test("cuts a word where no gap is near", () => {
    expect(cutLine("abcdefghij", 5)).toBe("abcd…");
    expect(cutLine("a bcdefghijklm", 8)).toBe("a bcdef…");
  });

  test("never cuts within a character a reader sees as one", () => {
    expect(cutLine("ab😀😀😀", 4)).toBe("ab…"); // an emoji is two units
    expect(cutLine("abe\u0301e\u0301x", 6)).toBe("abe\u0301…");
    expect(cutLine("👩‍👩‍👧x", 4)).toBe("👩\u200d…"); // a family longer than the room is cut all the same
  });

  test("has room for the mark alone", () => {
    expect(cutLine("abc", 1)).toBe("…");
  });

  test("cuts a letter under a thousand accents without looking at them all", () => {
    expect(cutLine(`a${"\u0301".repeat(1_000)}`, 50)).toHaveLength(50);
  });
});

describe("beginningThatFits", () => {
  const upTo = (chars: number) => (text: string) => text.length <= chars;

  test("is the whole line if that fits", () => {
    expect(beginningThatFits("one two", 100, upTo(7))).toBe("one two");
  });

  test("is the longest beginning that fits, and says that it is one", () => {
    expect(beginningThatFits("one two", 100, upTo(5))).toBe("one…");
    expect(beginningThatFits("abcdefghij", 5, upTo(100))).toBe("abcd…");
    expect(beginningThatFits("abcdefghij", 100, upTo(1))).toBe("…");
  });

  test("is nothing if nothing fits", () => {
    expect(beginningThatFits("one two", 100, () => false)).toBe("");
  });
});
