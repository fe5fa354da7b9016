import type { QueryWord } from "./query.ts";

/** The most words of a query that are searched. A few dozen of the rarest say what a long text is about. */
const TERMS_MAX = 64;

/** The number of the rarest words that are always searched. */
const TERMS_MIN = 2;

/** The most entries of the index that a search reads, at 0.2 µs each. The most common words are left out to stay below. */
export const POSTINGS_MAX = 15_000;

/** A higher limit for a search that scores only some messages and skips the entries of the others. */
export const POSTINGS_MAX_AMONG = 5 * POSTINGS_MAX;

/** A word that is searched, and the messages that may hold it. */
export interface QueryTerm extends QueryWord {
  /** The number of indexed messages that hold it. */
  indexedCount: number;
  /** The messages of the unindexed tail that may hold it. */
  tailIds: number[];
}

/**
 * Returns the words that are searched: the rarest, and of equally rare words the longest. A word that the index does not
 * know may be new, mistyped, or part of a pasted log, so such words are at most half of the result.
 */
export function rarest(words: readonly QueryWord[], frequencyOf: (stem: string) => number): QueryTerm[] {
  const terms = words.map((word) => ({ ...word, indexedCount: frequencyOf(word.stem), tailIds: [] }));
  if (terms.length <= TERMS_MAX) return terms;
  const byRarity = terms.toSorted(
    (left, right) =>
      Number(right.isQuoted) - Number(left.isQuoted) ||
      left.indexedCount - right.indexedCount ||
      right.word.length - left.word.length,
  );
  const known = byRarity.filter(({ indexedCount }) => indexedCount > 0);
  const unknown = byRarity.filter(({ indexedCount }) => indexedCount === 0);
  const knownCount = Math.min(known.length, Math.max(TERMS_MAX / 2, TERMS_MAX - unknown.length));
  return [...known.slice(0, knownCount), ...unknown.slice(0, TERMS_MAX - knownCount)];
}

/**
 * Returns the words that are read, the rarest first, as long as the index entries stay below `postingsMax`. Quoted words are
 * always read.
 */
export function affordable(terms: readonly QueryTerm[], postingsMax: number): QueryTerm[] {
  const found = terms.filter(({ indexedCount, tailIds }) => indexedCount + tailIds.length > 0);
  found.sort((left, right) => countOf(left) - countOf(right));
  let postings = 0;
  return found.filter((term, index) => {
    const isAffordable = index < TERMS_MIN || term.isQuoted || postings + countOf(term) <= postingsMax;
    if (isAffordable) postings += countOf(term);
    return isAffordable;
  });
}

const countOf = ({ indexedCount, tailIds }: QueryTerm): number => indexedCount + tailIds.length;
