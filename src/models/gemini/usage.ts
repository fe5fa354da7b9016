import * as z from "zod/mini";
import { once } from "../../core/once.ts";
import { estimateTokens } from "../../core/token-estimate.ts";
import type { ModelUsage } from "../summarizer.ts";

/** US dollars per million tokens. */
export interface TokenPrices {
  /** For tokens sent, cached by the service or not. */
  input: number;
  /** For tokens received, including reasoning. */
  output: number;
}

/**
 * Prices of the paid tier for text, from https://ai.google.dev/gemini-api/docs/pricing of April to October 2026. Models are left
 * out if their price depends on the prompt's length or on the date.
 */
export const PRICES: ReadonlyMap<string, TokenPrices> = new Map([
  ["gemini-3.5-flash", { input: 1.5, output: 9 }],
  ["gemini-3.5-flash-lite", { input: 0.3, output: 2.5 }],
  ["gemini-3.1-flash-lite", { input: 0.25, output: 1.5 }],
  ["gemini-2.5-flash", { input: 0.3, output: 2.5 }],
  ["gemini-2.5-flash-lite", { input: 0.1, output: 0.4 }],
  ["gemini-embedding-2", { input: 0.2, output: 0 }],
  ["gemini-embedding-001", { input: 0.15, output: 0 }],
]);

// Malformed counts are ignored, because they must not make a good reply fail.
const replySchema = once(() => {
  const count = z.catch(z.nullish(z.int().check(z.gte(0))), undefined);
  const counts = { promptTokenCount: count, candidatesTokenCount: count, thoughtsTokenCount: count };
  return z.object({ usageMetadata: z.catch(z.nullish(z.object(counts)), undefined) });
});

/** Returns the cost of a reply of any shape. Version 2 of the SDK leaves out the input of embeddings, so `sent` is estimated. */
export function usageOf(response: unknown, sent: readonly string[], prices: TokenPrices | undefined): ModelUsage {
  const counted = z.safeParse(replySchema(), response).data?.usageMetadata;
  const inputTokens = counted?.promptTokenCount ?? sent.reduce((tokens, text) => tokens + estimateTokens(text), 0);
  const outputTokens = (counted?.candidatesTokenCount ?? 0) + (counted?.thoughtsTokenCount ?? 0);
  if (prices === undefined) return { inputTokens, outputTokens };
  const costUsd = (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000;
  return { inputTokens, outputTokens, costUsd };
}
