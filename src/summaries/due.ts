/** Most summaries of its parts that a theme may keep. With more, one of the whole is made, so that contexts stay short. */
const PARTS_MAX = 3;

/** The new tokens that a later version must read, as a multiple of `resolveTokensMin` and the summaries that it repeats. */
const NEW_TO_REPEATED_MIN = 2;

/** How much of a theme its summaries cover. Tokens are those of the store's counter. */
export interface ThemeStanding {
  uncoveredTokens: number;
  /** The tokens of each of its summaries. */
  summaryTokens: readonly number[];
}

/**
 * Returns true if a theme is to be summarized now.
 *
 * The first summary is worth its call from `resolveTokensMin` uncovered tokens on. Every later one repeats what the earlier
 * ones say, so it waits until enough is new. The cost of keeping up then stays in proportion to what is said, however long
 * a theme lives. Until then the newest messages of the theme are shown as they are, if there is room.
 */
export function isDue({ uncoveredTokens, summaryTokens }: ThemeStanding, resolveTokensMin: number): boolean {
  if (summaryTokens.length > PARTS_MAX) return true;
  if (summaryTokens.length === 0) return uncoveredTokens >= resolveTokensMin;
  const repeated = summaryTokens.reduce((sum, tokens) => sum + tokens, resolveTokensMin);
  return uncoveredTokens >= NEW_TO_REPEATED_MIN * repeated;
}
