import type { TokenCounter } from "../core/tokens.ts";

export function tokenSum(items: readonly { tokenCount: number }[]): number {
  return items.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}

/** Returns the tokens of a line and its line break. */
export function lineTokens(text: string, tokenCounter: TokenCounter): number {
  return tokenCounter.count(text) + 1;
}
