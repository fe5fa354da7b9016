/** If a theme has more summaries than this, one summary of the whole theme is made, so that contexts stay short. */
const PARTS_MAX = 3;

/** The fewest new tokens of a later summary, for each token of `resolveTokensMin` and of the earlier summaries. */
const NEW_TO_REPEATED_MIN = 2;

/** After this many summaries built on summaries, the sources are read in full again, because errors add up. */
const READING_DEPTH_MAX = 6;

/** The sources are read in full again only if about this share of them is new since the last full reading. */
const NEW_SHARE_MIN = 2 / 3;

/** Longer sources are never read in full again, because of the cost. */
const FULL_READING_TOKENS_MAX = 10_000;

/**
 * Returns true if the summary of a theme is due. The first is due when `resolveTokensMin` tokens are uncovered. A later summary
 * repeats the earlier ones, so it needs more new tokens. The total cost then stays proportional to the theme's length.
 */
export function isDue(uncoveredTokens: number, summaryTokens: readonly number[], resolveTokensMin: number): boolean {
  if (summaryTokens.length > PARTS_MAX) return true;
  if (summaryTokens.length === 0) return uncoveredTokens >= resolveTokensMin;
  const repeated = summaryTokens.reduce((sum, tokens) => sum + tokens, resolveTokensMin);
  return uncoveredTokens >= NEW_TO_REPEATED_MIN * repeated;
}

/**
 * Decides if the next summary reads all its sources, or the earlier summaries and the messages after them. The total cost of
 * full readings stays proportional to the sources, because each full reading covers mostly new messages.
 *
 * @returns `readingDepth` is 0 for a full reading, and otherwise one more than that of the deepest earlier summary.
 */
export function readingOf(
  parts: readonly { readingDepth: number; sourceTokenCount: number }[],
  tokenCount: number,
  fullReadingTokensMax = FULL_READING_TOKENS_MAX,
): { readInFull: boolean; readingDepth: number } {
  const depth = parts.length === 0 ? 0 : Math.max(...parts.map(({ readingDepth }) => readingDepth)) + 1;
  const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
  // This assumes that each summary since the last full reading added as many new tokens as this one.
  const isMostlyNew = depth * (tokenCount - coveredTokens) >= NEW_SHARE_MIN * tokenCount;
  const isDueInFull = depth > READING_DEPTH_MAX && tokenCount <= fullReadingTokensMax && isMostlyNew;
  const readInFull = parts.length === 0 || isDueInFull;
  return { readInFull, readingDepth: readInFull ? 0 : depth };
}
