import { editsBetween } from "../core/edits.ts";
import { addTo } from "../core/groups.ts";
import type { QueryWord } from "./query.ts";
import type { Lookup } from "./source.ts";

/** Shorter stems are not corrected, because too many words resemble them. */
const STEM_CHARS_MIN = 4;
/** In stems of at least this length, two letters may be wrong. */
const STEM_CHARS_LONG = 8;

/** The most words of a query that are corrected. A pasted log has many words that no message has. */
const CORRECTED_MAX = 4;

/** The first letters are hardly ever wrong, and the index lists words by them. */
const SHARED_CHARS = 2;

const ONLY_LETTERS = /^\p{L}+$/u;

/**
 * Replaces the words that no message has, each by the nearest word that some message has, and returns all words of the query. Names
 * with digits or signs, and words in quotes, stay as they were typed.
 *
 * @returns undefined if nothing was replaced.
 */
export function corrected(
  words: readonly QueryWord[],
  isUnknown: (stem: string) => boolean,
  lookup: Pick<Lookup, "stemsFrom" | "countOf">,
): QueryWord[] | undefined {
  if (words.some(({ typed }) => typed !== undefined)) return undefined; // a query is corrected once
  const wrong = words.filter(({ word, stem, isQuoted }) => {
    return !isQuoted && stem.length >= STEM_CHARS_MIN && ONLY_LETTERS.test(word) && isUnknown(stem);
  });
  const taken = new Set(words.map(({ stem }) => stem));
  const meant = new Map<string, string>();
  for (const { stem } of wrong.slice(0, CORRECTED_MAX)) {
    const nearest = nearestStem(stem, lookup);
    if (nearest === undefined || taken.has(nearest)) continue;
    taken.add(nearest);
    meant.set(stem, nearest);
  }
  if (meant.size === 0) return undefined;
  return words.map((word) => {
    const stem = meant.get(word.stem);
    return stem === undefined ? word : { ...word, stem, typed: word.word };
  });
}

/** Returns the stem with the fewest wrong letters and, of several, the one that most messages have. */
function nearestStem(typed: string, { stemsFrom, countOf }: Pick<Lookup, "stemsFrom" | "countOf">): string | undefined {
  const editsMax = typed.length < STEM_CHARS_LONG ? 1 : 2;
  const near = new Map<number, string[]>();
  for (const stem of stemsFrom(typed.slice(0, SHARED_CHARS))) {
    if (Math.abs(stem.length - typed.length) > editsMax || !ONLY_LETTERS.test(stem)) continue;
    addTo(near, editsBetween(typed, stem, editsMax), stem);
  }
  for (let edits = 1; edits <= editsMax; edits++) {
    const counted = (near.get(edits) ?? []).map((stem) => ({ stem, count: countOf(stem) }));
    counted.sort((left, right) => right.count - left.count || (left.stem < right.stem ? -1 : 1));
    if (counted.length > 0 && counted[0]!.count > 0) return counted[0]!.stem;
  }
  return undefined;
}
