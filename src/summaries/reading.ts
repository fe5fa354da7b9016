/** Versions made from an earlier summary and new sources, after which the sources may be read in full again: summaries of
 *  summaries drift. */
const READING_DEPTH_MAX = 6;

/** The share of all sources, about, that must be newer than the last full reading. */
const NEW_SHARE_MIN = 2 / 3;

/** Tokens of sources up to which they are read in full again. Past this, a full reading costs more than the drift. */
const FULL_READING_TOKENS_MAX = 10_000;

/**
 * Decides whether the next summary is made from its sources alone, or from earlier summaries and what they do not cover.
 *
 * The cost of full readings stays in proportion to what is said: each reads mostly what none has read before.
 *
 * @param parts  The summaries at hand.
 * @param tokenCount  The tokens of all sources.
 * @returns also the depth of the next summary: 0 for a full reading, else one more than that of the deepest part.
 */
export function readingOf(
  parts: readonly { readingDepth: number; sourceTokenCount: number }[],
  tokenCount: number,
  fullReadingTokensMax = FULL_READING_TOKENS_MAX,
): { readInFull: boolean; readingDepth: number } {
  const depth = parts.length === 0 ? 0 : Math.max(...parts.map(({ readingDepth }) => readingDepth)) + 1;
  const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
  // Each version since the last full reading has read about as much that was new as this one does.
  const isMostlyNew = depth * (tokenCount - coveredTokens) >= NEW_SHARE_MIN * tokenCount;
  const isDueInFull = depth > READING_DEPTH_MAX && tokenCount <= fullReadingTokensMax && isMostlyNew;
  const readInFull = parts.length === 0 || isDueInFull;
  return { readInFull, readingDepth: readInFull ? 0 : depth };
}
