/** Versions from the last summary and the new sources, after which the sources are read in full again: summaries of
 *  summaries drift. */
const READING_DEPTH_MAX = 6;

/** Tokens of sources up to which they are read in full again; past this, a full reading costs more than the drift. */
const FULL_READING_TOKENS_MAX = 48_000;

/**
 * Whether the next summary is made from its sources alone, or from summaries of parts of them and what these do not cover.
 *
 * @param parts  The summaries at hand.
 * @param tokenCount  Of all sources.
 * @returns also the depth of the next one: 0 for a full reading, else one more than that of the deepest part.
 */
export function readingOf(
  parts: readonly { readingDepth: number }[],
  tokenCount: number,
): { readInFull: boolean; readingDepth: number } {
  const depth = parts.length === 0 ? 0 : Math.max(...parts.map(({ readingDepth }) => readingDepth)) + 1;
  const readInFull = parts.length === 0 || (depth > READING_DEPTH_MAX && tokenCount <= FULL_READING_TOKENS_MAX);
  return { readInFull, readingDepth: readInFull ? 0 : depth };
}
