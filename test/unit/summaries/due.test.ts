import { expect, test } from "vitest";
import { isDue } from "../../../src/summaries/due.ts";

test.each<[string, { uncoveredTokens: number; summaryTokens: number[] }, boolean]>([
  ["a theme without a summary: from the setting on", { uncoveredTokens: 200, summaryTokens: [] }, true],
  ["not below it", { uncoveredTokens: 199, summaryTokens: [] }, false],
  ["one with a summary: from twice that and the setting on", { uncoveredTokens: 900, summaryTokens: [250] }, true],
  ["not before", { uncoveredTokens: 899, summaryTokens: [250] }, false],
  ["however short the summary", { uncoveredTokens: 400, summaryTokens: [1] }, false],
  [
    "one that stands on several: by all that are repeated",
    { uncoveredTokens: 1_399, summaryTokens: [250, 250] },
    false,
  ],
  ["one that stands on three", { uncoveredTokens: 0, summaryTokens: [10, 10, 10] }, false],
  ["one that stands on more, whatever is new", { uncoveredTokens: 0, summaryTokens: [10, 10, 10, 10] }, true],
])("%s", (_, standing, expected) => {
  expect(isDue(standing, 200)).toBe(expected);
});
