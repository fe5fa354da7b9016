import fc from "fast-check";
import { expect, test } from "vitest";
import { isPluralOfY, stem, stemEnd } from "../../../src/models/stem.ts";
import { runs, seenInRuns } from "../../support/effort.ts";

test.each([
  [["retry", "retries", "retrying"], "retry"],
  [["stop", "stops", "stopped", "stopping"], "stop"],
  [["file", "files", "filed"], "fil"],
  [["release", "released", "releases", "releasing"], "releas"],
  [["class", "classes"], "clas"],
])("brings %j together", (forms, expected) => {
  expect(forms.map(stem)).toEqual(forms.map(() => expected));
});

test.each(["status", "is", "red", "need", "漢字", "v2.4"])("leaves %j alone", (word) => {
  expect(stem(word)).toBe(word);
});

test("cuts a word where it stands, in either case, as it cuts the word alone", () => {
  let cutCount = 0;
  const letters = fc.string({ unit: fc.constantFrom("a", "r", "i", "n", "g", "e", "d", "s", "u"), maxLength: 8 });
  fc.assert(
    fc.property(letters, letters, letters, (before, word, after) => {
      const start = before.length;
      const end = start + word.length;
      const text = `${before}${word.toUpperCase()}${after}`;
      expect(isPluralOfY(text, start, end)).toBe(word.length > 3 && word.endsWith("ies"));
      if (isPluralOfY(text, start, end)) return;
      const stemmed = text.slice(start, stemEnd(text, start, end)).toLowerCase();
      expect(stemmed).toBe(stem(word));
      if (stemmed !== word) cutCount += 1;
    }),
    { numRuns: runs(1_000) },
  );
  expect(cutCount).toBeGreaterThan(seenInRuns(100));
});

test.each([
  ["ties", "ty"],
  ["playies", "play"],
  ["pass", "pas"],
  ["being", "being"],
  ["seeing", "see"],
  ["used", "used"],
])("makes of %j %j", (word, expected) => {
  expect(stem(word)).toBe(expected);
});
