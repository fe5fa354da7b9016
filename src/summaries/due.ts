/** Most summaries that a theme may have. With more, one summary of the whole theme is made, so that contexts stay short. */
const PARTS_MAX = 3;

/** New tokens that a later summary must cover, as a multiple of `resolveTokensMin` plus the tokens of the earlier summaries. */
const NEW_TO_REPEATED_MIN = 2;

/** Summaries that may be built one on the other before the sources are read in full again. Summaries of summaries drift. */
const READING_DEPTH_MAX = 6;

/** The share of the sources that must be newer than the last full reading, about. */
const NEW_SHARE_MIN = 2 / 3;

/** Most tokens of sources that are read in full again. A larger reading is not worth its cost. */
const FULL_READING_TOKENS_MAX = 10_000;

/**
 * Returns true if the summary of a theme is due. The first is due when `resolveTokensMin` tokens are uncovered. A later one repeats
 * the earlier ones, so it is due only when enough is new: the total cost stays in proportion to the length of the theme.
 *
 * @param summaryTokens  The tokens of each of the theme's summaries.
 */
export function isDue(uncoveredTokens: number, summaryTokens: readonly number[], resolveTokensMin: number): boolean {
  if (summaryTokens.length > PARTS_MAX) return true;
  if (summaryTokens.length === 0) return uncoveredTokens >= resolveTokensMin;
  const repeated = summaryTokens.reduce((sum, tokens) => sum + tokens, resolveTokensMin);
  return uncoveredTokens >= NEW_TO_REPEATED_MIN * repeated;
}

/**
 * Decides if the next summary is made from its sources alone, or from earlier summaries and the messages that they do not
 * cover. The total cost of full readings stays in proportion to the sources, because each covers mostly new messages.
 *
 * @param tokenCount  The tokens of all sources.
 * @returns `readingDepth` is the depth of the next summary: 0 for a full reading, else one more than that of the deepest part.
 */
export function readingOf(
  parts: readonly { readingDepth: number; sourceTokenCount: number }[],
  tokenCount: number,
  fullReadingTokensMax = FULL_READING_TOKENS_MAX,
): { readInFull: boolean; readingDepth: number } {
  const depth = parts.length === 0 ? 0 : Math.max(...parts.map(({ readingDepth }) => readingDepth)) + 1;
  const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
  // An estimate: each summary since the last full reading added about as many new tokens as this one does.
  const isMostlyNew = depth * (tokenCount - coveredTokens) >= NEW_SHARE_MIN * tokenCount;
  const isDueInFull = depth > READING_DEPTH_MAX && tokenCount <= fullReadingTokensMax && isMostlyNew;
  const readInFull = parts.length === 0 || isDueInFull;
  return { readInFull, readingDepth: readInFull ? 0 : depth };
}
