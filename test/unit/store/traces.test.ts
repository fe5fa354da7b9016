import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { fileHas, TextPieces } from "../../../src/store/facts/traces.ts";
import { temporaryPath } from "../../support/temporary-store.ts";

test("a text is found wherever it is in some bytes, and another is not", () => {
  const text = fc.string({ unit: "grapheme", minLength: 12, maxLength: 90 });
  fc.assert(
    fc.property(text, fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (text, before, after) => {
      const pieces = new TextPieces();
      pieces.add(text);
      const asJson = JSON.stringify(text).slice(1, -1);
      expect(pieces.areIn(Buffer.from(before + asJson + after))).toBe(true);
      const others = Buffer.from(before + after);
      // As bytes: Node 24 aborts the process when it looks for a string that ends in half a character.
      if (!others.includes(Buffer.from(asJson.slice(0, 8)))) expect(pieces.areIn(others)).toBe(false);
    }),
  );
});

test("32 bytes of a long text are enough, and a text of fewer than 12 is not looked for", () => {
  const pieces = new TextPieces();
  const long = Array.from({ length: 20 }, (_, index) => `word-${index}`).join(" ");
  pieces.add(long);
  pieces.add("continue");
  expect(pieces.areIn(Buffer.from(`quoted: ${long.slice(10, 80)}`))).toBe(true);
  expect(pieces.areIn(Buffer.from(long.slice(0, 31)))).toBe(false);
  expect(pieces.areIn(Buffer.from("please continue"))).toBe(false);
});

test("many texts that begin alike are looked for in a moment, and each is found", () => {
  const pieces = new TextPieces();
  const idOf = (number: number): string => `toolu_01${number.toString(36).padStart(12, "0")}Xy`;
  for (let number = 0; number < 40_000; number++) for (let time = 0; time < 3; time++) pieces.add(idOf(number));
  const others = Array.from({ length: 40_000 }, (_, number) => idOf(1_000_000 + number)).join('","');
  const from = performance.now();
  expect(pieces.areIn(Buffer.from(others))).toBe(false);
  expect(performance.now() - from).toBeLessThan(5_000);
  for (const number of [0, 17, 39_999]) expect(pieces.areIn(Buffer.from(`${others} ${idOf(number)}`))).toBe(true);
});

test("of 20 MB of texts, fragments of a few hundred bytes are found", () => {
  const pieces = new TextPieces();
  const textOf = (seed: number): string =>
    Array.from({ length: 100_000 }, (_, at) => Math.imul(seed * 100_003 + at, 0x9e3779b1).toString(36)).join(" ");
  for (let seed = 1; seed <= 24; seed++) pieces.add(textOf(seed));
  expect(pieces.areIn(Buffer.from(textOf(12).slice(5_001, 5_701)))).toBe(true);
  expect(pieces.areIn(Buffer.from(textOf(121).slice(5_001, 5_701)))).toBe(false);
});

test("a file is searched to its end, also where two reads meet", () => {
  const pieces = new TextPieces();
  pieces.add("the word is marzipan-71");
  const chunk = 1 << 20;
  for (const at of [0, chunk - 5, 2 * chunk - 23, 2 * chunk + 40]) {
    const bytes = Buffer.alloc(2 * chunk + 63);
    bytes.write("the word is marzipan-71", at);
    const path = temporaryPath();
    writeFileSync(path, bytes);
    expect([at, fileHas(path, pieces)]).toEqual([at, true]);
    bytes.write("X", at + 4);
    writeFileSync(path, bytes);
    expect([at, fileHas(path, pieces)]).toEqual([at, false]);
  }
});
