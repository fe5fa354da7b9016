import type { TokenCounter } from "../core/tokens.ts";

/** Returns the tokens of all items together. */
export function tokenSum(items: readonly { tokenCount: number }[]): number {
  return items.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}

/** Returns what a line adds to a block: its text, and one token for the line break. */
export function lineTokens(text: string, tokenCounter: TokenCounter): number {
  return tokenCounter.count(text) + 1;
}
