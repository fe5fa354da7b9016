import { expect, test } from "vitest";
import { estimateTokens } from "../../../../src/core/token-estimate.ts";
import { usageOf } from "../../../../src/models/gemini/usage.ts";

const PRICES = { input: 2, output: 10 };

test("is what the service counted, thoughts among what came back", () => {
  const usageMetadata = { promptTokenCount: 1_000, candidatesTokenCount: 50, thoughtsTokenCount: 30 };
  expect(usageOf({ usageMetadata }, ["not counted"], PRICES)).toEqual({
    inputTokens: 1_000,
    outputTokens: 80,
    costUsd: 0.0028,
  });
  expect(usageOf({ usageMetadata: { promptTokenCount: 12 } }, [], PRICES)).toEqual({
    inputTokens: 12,
    outputTokens: 0,
    costUsd: 0.000024,
  });
});

test("has no cost where there is no price", () => {
  const usageMetadata = { promptTokenCount: 5, candidatesTokenCount: 1 };
  expect(usageOf({ usageMetadata }, [], undefined)).toEqual({ inputTokens: 5, outputTokens: 1 });
});

test.each([
  [undefined],
  [null],
  ["x"],
  [{}],
  [{ usageMetadata: null }],
  [{ usageMetadata: [] }],
  [{ usageMetadata: { promptTokenCount: "7" } }],
  [{ usageMetadata: { promptTokenCount: -7 } }],
])("is estimated from what was sent where the reply is %j", (response) => {
  const sent = ["The lock is held by another process.", "Bake the bread."];
  const inputTokens = estimateTokens(sent[0]!) + estimateTokens(sent[1]!);
  expect(usageOf(response, sent, undefined)).toEqual({ inputTokens, outputTokens: 0 });
});
