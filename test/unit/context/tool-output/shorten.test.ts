import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sharesOf, shorten } from "../../../../src/context/tool-output/shorten.ts";
import { runs, seenInRuns } from "../../../support/effort.ts";

test("keeps head and tail, and says how much is missing and where it is", () => {
  const text = `${"a".repeat(500)}${"z".repeat(500)}`;
  // The marker for up to 9,999 characters is 50 long; of the other 100, 66 are head and 33 tail.
  expect(shorten(text, 150, "message 7")).toBe(
    `${"a".repeat(66)}\n[… 901 characters left out, expand message 7 …]\n${"z".repeat(33)}`,
  );
});

test("gives the head where the marker has no room, and all where it is not needed", () => {
  expect(shorten("a".repeat(1_000), 10, "message 7")).toBe("aaaaaaaaa…");
  expect(shorten("a", 0, "message 7")).toBe("");
  expect(shorten("as long as it may be", 20, "message 7")).toBe("as long as it may be");
});

test("cuts before and after a family, not through it", () => {
  const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"; // 8 UTF-16 units, one grapheme
  const short = shorten(family.repeat(100), 100, "message 7");
  const [head, tail] = short.split(/\n.*\n/);
  expect(head).toBe(family.repeat(4));
  expect(tail).toBe(family.repeat(2));
});

describe("shares of a limit", () => {
  test("gives the small what they need, and the large equal parts of the rest", () => {
    expect(sharesOf([500, 10, 300, 0], 110)).toEqual([50, 10, 50, 0]);
  });

  test("gives everyone what they need where there is room, and nobody anything where there is none", () => {
    expect(sharesOf([5, 10], 100)).toEqual([5, 10]);
    expect(sharesOf([5, 10], -3)).toEqual([0, 0]);
    expect(sharesOf([], 10)).toEqual([]);
  });
});

/**
 * Goal: the result is never longer than asked for, and what is left out is what it says.
 * Method: random texts of graphemes of one to eight units, cut at random lengths.
 */
test("accounts for every character", () => {
  let cut = 0;
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 400, size: "max" }), fc.nat(300), (text, charsMax) => {
      const short = shorten(text, charsMax, "message 7");
      if (text.length <= charsMax) {
        expect(short).toBe(text);
        return;
      }
      expect(short.length).toBeLessThanOrEqual(charsMax);
      if (charsMax < 52) return; // has no room for a marker
      const marker = /\n\[… (\d+) characters left out, expand message 7 …\]\n/.exec(short)!;
      const head = short.slice(0, marker.index);
      const tail = short.slice(marker.index + marker[0].length);
      expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
      expect(head.length + Number(marker[1]) + tail.length).toBe(text.length);
      if (head.length > 0 && tail.length > 0) cut++;
    }),
    { numRuns: runs(250) },
  );
  expect(cut).toBeGreaterThan(seenInRuns(25));
});
