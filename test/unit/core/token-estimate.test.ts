import fc from "fast-check";
import { estimateTokenCount } from "tokenx";
import { expect, test } from "vitest";
import { estimateTokens } from "../../../src/core/token-estimate.ts";
import { runs } from "../../support/effort.ts";

test.each([
  ["nothing", "", 0],
  ["words of up to eight small letters as one token", "the deployed", 1 + 1],
  ["other words by seven characters", "deployment Deployed it's", 2 + 2 + 1],
  ["digits by three", "1234567", 3],
  ["punctuation by six", "(){}[]<", 2],
  ["no spaces and tabs", " \t a", 1],
  ["a line's end after a word, and none after punctuation", "a\nb.\nc", 1 + 1 + 1 + 1 + 0 + 1],
  ["an indented line and an empty one", "a.\n  b.\n\nc", 1 + 1 + 1 + 1 + 1 + 1 + 1],
  ["a line's end at the start", "\na", 1 + 1],
  ["letters with accents by their language", "voilà", 2],
  ["Han by the character", "部署失败", 4],
  ["full-width punctuation with the characters before it", "失败。", 3],
])("counts %s", (_, text, expected) => {
  expect(estimateTokens(text)).toBe(expected);
});

/**
 * Goal: the pass of our own never changes a count.
 * Method: texts of pieces around every rule: runs at their limits, white space of all kinds, scripts, punctuation that joins
 * the run before it, halves of surrogate pairs; and any UTF-16 units. tokenx itself is the oracle.
 */
test("is tokenx's, to the token, for any text", () => {
  const stretches = fc
    .tuple(
      fc.constantFrom("a", "Z", "7", "'", "{", "-", " ", "\n", "\r\n", "\0", "é", "я", "漢", "か", "한", "🎉"),
      fc.nat(20),
    )
    .map(([unit, count]) => unit.repeat(count));
  const marks = fc.constantFrom(
    "。",
    "「",
    "・",
    "！",
    "\u00a0",
    "\u2028",
    "\u3000",
    "\ufeff",
    "—",
    "’",
    "\ud800",
    "\udc00",
    "\n ",
  );
  const text = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .array(fc.oneof({ weight: 6, arbitrary: stretches }, marks), { maxLength: 14 })
        .map((all) => all.join("")),
    },
    fc.string({ unit: "binary", maxLength: 40 }),
    fc.string({ unit: "binary-ascii", maxLength: 60 }),
  );
  const reached = { ascii: 0, foreign: 0, broken: 0 };
  fc.assert(
    fc.property(text, (given) => {
      if (!/[^\0-\x7f]/.test(given)) reached.ascii += 1;
      else if (/[^\S\0-\x7f]|[\u3000-\u30ff\uff00-\uffef]/.test(given)) reached.broken += 1;
      else reached.foreign += 1;
      expect(estimateTokens(given)).toBe(estimateTokenCount(given));
    }),
    { numRuns: runs(3_000) },
  );
  expect(Math.min(reached.ascii, reached.foreign, reached.broken)).toBeGreaterThan(runs(300));
});
