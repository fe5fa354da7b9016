import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { estimateTokens } from "../../../src/core/token-estimate.ts";
import { expectLinearTime } from "../../support/processor-time.ts";
import { tokenTexts } from "../../support/token-texts.ts";

interface Counts {
  sha256: string;
  o200k: number;
  cl100k: number;
}

const texts = [...tokenTexts()];
const record: Record<string, Counts> = JSON.parse(
  readFileSync(new URL("../../fixtures/token-counts.json", import.meta.url), "utf8"),
);

test.each([
  ["nothing", "", 0],
  ["a word with the space before it as one token", "the lamp the", 3],
  ["a word of each case", "oneTwoThree", 3],
  ["three digits as one token", "1234567", 3],
  ["a space before digits apart", "a 12", 3],
  ["marks in a row as one token, with the line's end", "a();\n", 2],
  ["the lines and an indent", "a\n\n    b", 4],
  ["letters and digits that take turns", "3f9d2c1b", 8],
  ["a control character alone", "\u001b[0m", 4],
])("counts %s", (_, text, expected) => {
  expect(estimateTokens(text)).toBe(expected);
});

describe("against the recorded counts of real tokenizers", () => {
  test("the record is of these texts: `scripts/token-counts.ts` makes it anew", () => {
    const hashes = texts.map(([kind, { text }]) => [kind, createHash("sha256").update(text).digest("hex")]);
    expect(Object.entries(record).map(([kind, { sha256 }]) => [kind, sha256])).toEqual(hashes);
  });

  test.each(texts)("%s is never much too low", (kind, { text }) => {
    expect(estimateTokens(text)).toBeGreaterThanOrEqual(0.95 * record[kind]!.o200k);
  });

  test.each(texts.filter(([, { group }]) => group !== "data"))("%s is not too high", (kind, { text }) => {
    const isEnglish = /^[\0-\x7f]*$/.test(text);
    expect(estimateTokens(text)).toBeLessThanOrEqual((isEnglish ? 1.12 : 1.2) * record[kind]!.o200k);
  });

  test.each(texts.filter(([, { text }]) => /^[\0-\x7f]*$/.test(text)))(
    "%s is not too low for an older one either",
    (kind, { text }) => {
      expect(estimateTokens(text)).toBeGreaterThanOrEqual(0.93 * record[kind]!.cl100k);
    },
  );
});

/** A token holds at least a byte, and a UTF-16 unit has at most three. */
test("is a whole number of at most four tokens a unit, for any text", () => {
  const unit = fc.oneof(
    fc.constantFrom(
      "a",
      "Z",
      "7",
      "'",
      "'s",
      "{",
      "-",
      " ",
      "\n",
      "\r",
      "\t",
      "\0",
      "\u001b",
      "é",
      "я",
      "漢",
      "한",
      "🎉",
    ),
    fc.constantFrom("。", "\u00a0", "\u2028", "\u200d", "\ufeff", "\uffff", "\ud800", "\udc00"),
    fc.string({ unit: "binary", maxLength: 1 }),
  );
  const text = fc.array(unit, { maxLength: 60, size: "max" }).map((units) => units.join(""));
  fc.assert(
    fc.property(text, (given) => {
      const tokens = estimateTokens(given);
      expect(Number.isInteger(tokens)).toBe(true);
      expect(tokens).toBeGreaterThanOrEqual(given === "" ? 0 : 1);
      expect(tokens).toBeLessThanOrEqual(4 * given.length);
    }),
    { numRuns: 2_000 },
  );
});

test("a long text costs what its parts cost", () => {
  const line = "A line of the log: 4f9a2c and (some) words.\n";
  const tokens = estimateTokens(line.repeat(100));
  expect(estimateTokens(line.repeat(10_000)) / tokens).toBeCloseTo(100, 0);
});

test.each(["a", " ", "\n", ".", "'s", "é", "漢。", "a é "])(
  "takes linear time over a long text of %j",
  async (unit) => {
    await expectLinearTime(50_000, (size) => unit.repeat(size), estimateTokens);
  },
);
