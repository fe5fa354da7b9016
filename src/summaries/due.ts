/** Most summaries that a theme may have. With more, one summary of the whole theme is made, so that contexts stay short. */
const PARTS_MAX = 3;

/** New tokens that a later summary must cover, as a multiple of `resolveTokensMin` plus the tokens of the earlier summaries. */
const NEW_TO_REPEATED_MIN = 2;

/** How much of a theme its summaries cover. Tokens are those of the store's counter. */
export interface ThemeStanding {
  uncoveredTokens: number;
  /** The tokens of each of its summaries. */
  summaryTokens: readonly number[];
}

/**
 * Returns true if the summary of a theme is due.
 *
 * The first summary is due when `resolveTokensMin` tokens are uncovered. A later one repeats the earlier ones, so it is due
 * only when enough is new. So the total cost stays in proportion to the length of the theme. Until a summary is due, contexts
 * show the uncovered messages word for word, if there is room.
 */
export function isDue({ uncoveredTokens, summaryTokens }: ThemeStanding, resolveTokensMin: number): boolean {
  if (summaryTokens.length > PARTS_MAX) return true;
  if (summaryTokens.length === 0) return uncoveredTokens >= resolveTokensMin;
  const repeated = summaryTokens.reduce((sum, tokens) => sum + tokens, resolveTokensMin);
  return uncoveredTokens >= NEW_TO_REPEATED_MIN * repeated;
}
