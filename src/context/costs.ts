import type { TokenCounter } from "../core/tokens.ts";

export function tokenSum(items: readonly { tokenCount: number }[]): number {
  return items.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}

/** Returns the tokens that a line adds to a block: those of its text, and one for the line break. */
export function lineTokens(text: string, tokenCounter: TokenCounter): number {
  return tokenCounter.count(text) + 1;
}
