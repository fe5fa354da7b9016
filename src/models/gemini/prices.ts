import type { ModelUsage } from "../usage.ts";

/** US dollars per million tokens. */
export interface TokenPrices {
  /** For tokens sent, cached by the service or not. */
  input: number;
  /** For tokens received, including reasoning. */
  output: number;
}

/**
 * Prices of the paid tier for text, from copies of https://ai.google.dev/gemini-api/docs/pricing of April to October 2026.
 * Models whose price depends on the prompt's length or on the date are left out.
 */
const PRICES: Record<string, TokenPrices> = {
  "gemini-3.5-flash": { input: 1.5, output: 9 },
  "gemini-3.5-flash-lite": { input: 0.3, output: 2.5 },
  "gemini-3.1-flash-lite": { input: 0.25, output: 1.5 },
  "gemini-2.5-flash": { input: 0.3, output: 2.5 },
  "gemini-2.5-flash-lite": { input: 0.1, output: 0.4 },
  "gemini-embedding-2": { input: 0.2, output: 0 },
  "gemini-embedding-001": { input: 0.15, output: 0 },
};

/** Returns undefined for an unknown price. */
export function pricesOf(model: string): TokenPrices | undefined {
  return Object.hasOwn(PRICES, model) ? PRICES[model] : undefined;
}

/** Adds the cost if the prices are known. */
export function withCost(
  { inputTokens, outputTokens }: { inputTokens: number; outputTokens: number },
  prices: TokenPrices | undefined,
): ModelUsage {
  if (prices === undefined) return { inputTokens, outputTokens };
  const costUsd = (inputTokens * prices.input + outputTokens * prices.output) / 1_000_000;
  return { inputTokens, outputTokens, costUsd };
}
