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
