/** Versions from the last summary and the new sources, after which the sources may be read in full again: summaries of
 *  summaries drift. */
const READING_DEPTH_MAX = 6;

/** Of all sources, about as much must be newer than the last full reading. */
const NEW_SHARE_MIN = 2 / 3;

/** Tokens of sources, of a theme or of a stretch, up to which they are read in full again. Past this, it costs more than the
 *  drift. */
export const FULL_READING_TOKENS_MAX = 10_000;

/**
 * Whether the next summary is made from its sources alone, or from summaries of parts of them and what these do not cover.
 *
 * What full readings cost stays in proportion to what is said: each reads mostly what none has read before.
 *
 * @param parts  The summaries at hand.
 * @param tokenCount  Of all sources.
 * @returns also the depth of the next one: 0 for a full reading, else one more than that of the deepest part.
 */
export function readingOf(
  parts: readonly { readingDepth: number; sourceTokenCount: number }[],
  tokenCount: number,
  fullReadingTokensMax: number,
): { readInFull: boolean; readingDepth: number } {
  const depth = parts.length === 0 ? 0 : Math.max(...parts.map(({ readingDepth }) => readingDepth)) + 1;
  const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
  // Each version since the last full reading has brought about as much as this one does.
  const isMostlyNew = depth * (tokenCount - coveredTokens) >= NEW_SHARE_MIN * tokenCount;
  const isDueInFull = depth > READING_DEPTH_MAX && tokenCount <= fullReadingTokensMax && isMostlyNew;
  const readInFull = parts.length === 0 || isDueInFull;
  return { readInFull, readingDepth: readInFull ? 0 : depth };
}
