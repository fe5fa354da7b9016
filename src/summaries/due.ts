/** Summaries of its parts that a theme may stand on; with more, one of the whole is made, so that contexts stay short. */
const PARTS_MAX = 3;

/**
 * What a later version has to read that is new, as a multiple of `resolveTokensMin`, which any call has to be worth, and the
 * summaries that it repeats.
 */
const NEW_TO_REPEATED_MIN = 2;

/** How a theme stands. Tokens are those of the store's counter. */
export interface ThemeStanding {
  /** Of its messages that no summary covers. */
  uncoveredTokens: number;
  /** Of each summary it stands on. */
  summaryTokens: readonly number[];
}

/**
 * Whether a theme is to be summarized now.
 *
 * The first summary is worth its call from `resolveTokensMin` uncovered tokens on. Every later one repeats what is there, so it
 * waits until enough is new: what keeping up costs then stays in proportion to what is said, however long a theme lives.
 * Until then the newest of it is shown as it is, where there is room.
 */
export function isDue({ uncoveredTokens, summaryTokens }: ThemeStanding, resolveTokensMin: number): boolean {
  if (summaryTokens.length > PARTS_MAX) return true;
  if (summaryTokens.length === 0) return uncoveredTokens >= resolveTokensMin;
  const repeated = summaryTokens.reduce((sum, tokens) => sum + tokens, resolveTokensMin);
  return uncoveredTokens >= NEW_TO_REPEATED_MIN * repeated;
}
