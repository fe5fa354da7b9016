import leven from "leven";

/** Wrong letters that still look like a slip, at most and as a share of the longer word. */
const EDITS_MAX = 3;
const EDITS_SHARE_MAX = 0.5;

/** Two letters begin too much. */
const BEGINNING_CHARS_MIN = 3;

/**
 * What was meant by a word that is not known: the one with the fewest wrong letters, or else one that it begins. Undefined
 * where nothing comes near.
 */
export function nearest(typed: string, known: Iterable<string>): string | undefined {
  const word = typed.toLowerCase();
  let best: string | undefined;
  let editsBest = EDITS_MAX + 1;
  for (const candidate of known) {
    const edits = leven(word, candidate.toLowerCase());
    const editsMax = Math.max(word.length, candidate.length) * EDITS_SHARE_MAX;
    if (edits < editsBest && edits < editsMax) [best, editsBest] = [candidate, edits];
  }
  if (best !== undefined || word.length < BEGINNING_CHARS_MIN) return best;
  return [...known].find((candidate) => candidate.toLowerCase().startsWith(word));
}

/** The sentence of a hint; empty where nothing comes near. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  const best = nearest(typed, known);
  return best === undefined ? "" : `Did you mean ${best}?`;
}
