import fc from "fast-check";
import { expect, test } from "vitest";
import { WordTable } from "../../../src/models/word-table.ts";
import { runs, seenIn } from "../../support/effort.ts";

test("gives the FNV-1a hash of a word in lower case", () => {
  const table = new WordTable();
  // http://www.isthe.com/chongo/tech/comp/fnv: of "foobar" 0xbf9cf968.
  expect(table.hashAt(table.add("FooBar", 0, 6)) >>> 0).toBe(0xbf9cf968);
});

test("tells words of one hash apart", () => {
  const table = new WordTable();
  // Two of the first pair of English words known to collide under 32-bit FNV-1a.
  table.add("costarring", 0, 10);
  table.add("liquid", 0, 6);
  expect(table.hashAt(0)).toBe(table.hashAt(1));
  expect(table.size).toBe(2);
});

/**
 * Goal: the table numbers words as a `Map` from strings does.
 * Method: many words of few letters, as ranges of one text, so that words repeat and the table grows several times.
 */
test("agrees with a Map from strings", () => {
  let sizeMax = 0;
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("a", "B", "b", "é", "漢"), minLength: 1_500, maxLength: 3_000 }),
      (text) => {
        const table = new WordTable();
        const oracle = new Map<string, number>();
        for (let start = 0; start < text.length; start++) {
          const end = Math.min(text.length, start + 1 + (start % 7));
          const word = text.slice(start, end).toLowerCase();
          const known = oracle.get(word);
          expect(table.indexOf(text, start, end)).toBe(known ?? -1);
          if (known === undefined) oracle.set(word, oracle.size);
          expect(table.add(text, start, end)).toBe(oracle.get(word));
        }
        sizeMax = Math.max(sizeMax, table.size);
      },
    ),
    { numRuns: runs(10) },
  );
  expect(sizeMax).toBeGreaterThan(seenIn(300));
});

test("is as new after it was emptied, even if it had grown", () => {
  const table = new WordTable();
  for (const count of [2, 2_000, 2]) {
    table.clear();
    const words = Array.from({ length: count }, (_, index) => `w${index}`);
    expect(words.map((word) => table.indexOf(word, 0, word.length)).every((index) => index === -1)).toBe(true);
    expect(words.map((word) => table.add(word, 0, word.length))).toEqual([...words.keys()]);
    expect(table.size).toBe(count);
  }
});
