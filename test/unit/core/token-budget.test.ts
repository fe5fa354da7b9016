import { expect, test } from "vitest";
import * as z from "zod/mini";
import { StoreError } from "../../../src/core/errors.ts";
import { parseOptions } from "../../../src/core/schema.ts";
import { type TokenBudget, tokenBudgetFields, tokensMaxOf } from "../../../src/core/token-budget.ts";

test.each<[string, TokenBudget, number]>([
  ["a number", { tokensMax: 5_000 }, 5_000],
  ["nothing, which is the default", {}, 16_000],
  ["a window with nothing taken of it", { contextWindow: 8_000 }, 8_000],
  ["a window, an answer and tools", { contextWindow: 128_000, reserveTokens: 8_000, toolTokens: 3_500 }, 116_500],
  ["a window of which a token is left", { contextWindow: 100, reserveTokens: 60, toolTokens: 39 }, 1],
])("takes %s", (_, budget, tokensMax) => {
  expect(tokensMaxOf(budget, 16_000)).toBe(tokensMax);
});

test.each<[object, string]>([
  [
    { tokensMax: 5_000, contextWindow: 8_000 },
    "Expected tokensMax to be left out if contextWindow is given, got 5000.",
  ],
  [{ tokensMax: 5_000, toolTokens: 10 }, "Expected toolTokens to be left out without contextWindow, got 10."],
  [{ reserveTokens: 10 }, "Expected reserveTokens to be left out without contextWindow, got 10."],
  [
    { contextWindow: 100, reserveTokens: 60, toolTokens: 40 },
    "Expected reserveTokens and toolTokens to be less than contextWindow (100) together, got 100.",
  ],
  [{ contextWindow: 100, reserveTokens: -1 }, "Expected reserveTokens to be a whole number from 0, got -1."],
  [{ contextWindow: 0 }, "Expected contextWindow to be a whole number from 1, got 0."],
  [{ tokensMax: 1.5 }, "Expected tokensMax to be a whole number from 1, got 1.5."],
])("refuses %j", (budget, message) => {
  const budgetOf = () => tokensMaxOf(parseOptions("render", z.strictObject(tokenBudgetFields()), budget), 16_000);
  expect(budgetOf).toThrow(StoreError);
  expect(budgetOf).toThrow(message);
});
