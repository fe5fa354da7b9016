import { editsBetween } from "./edits.ts";

/** A suggestion differs by at most this many letters, and by less than this share of the longer word. */
const EDITS_MAX = 3;
const EDITS_SHARE_MAX = 0.5;

/** A shorter text is not completed, because too many words begin with the same two letters. */
const BEGINNING_CHARS_MIN = 3;

/** Guesses which known word was meant: the word with the fewest wrong letters, or else a word that begins with `typed`. */
export function nearest(typed: string, known: Iterable<string>): string | undefined {
  const word = typed.toLowerCase();
  let best: string | undefined;
  let editsBest = EDITS_MAX + 1;
  for (const candidate of known) {
    const edits = editsBetween(word, candidate.toLowerCase(), EDITS_MAX);
    const editsMax = Math.max(word.length, candidate.length) * EDITS_SHARE_MAX;
    if (edits < editsBest && edits < editsMax) [best, editsBest] = [candidate, edits];
  }
  if (best !== undefined || word.length < BEGINNING_CHARS_MIN) return best;
  return [...known].find((candidate) => candidate.toLowerCase().startsWith(word));
}

/** Returns "" if no known word is near. */
export function didYouMean(typed: string, known: Iterable<string>): string {
  const best = nearest(typed, known);
  return best === undefined ? "" : `Did you mean ${best}?`;
}
