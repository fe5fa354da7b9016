import type { QueryWord } from "./query.ts";

/** Words of a query that are searched. Of a long text a few dozen of the rarest say what it is about. */
const TERMS_MAX = 64;

/** Words that are searched however common they are. */
const TERMS_MIN = 2;

/** Entries of the index that a search reads, at 0.2 µs each; with more, the most common words are left out. */
export const POSTINGS_MAX = 15_000;

/** The same where only given messages are scored, so that the others are passed over. */
export const POSTINGS_MAX_AMONG = 5 * POSTINGS_MAX;

/** A word that is searched, and where it occurs. */
export interface QueryTerm extends QueryWord {
  /** Of indexed messages. */
  indexedCount: number;
  /** Messages of the tail that may hold it. */
  tailIds: number[];
}

/**
 * The words that are worth looking for in the tail: the rarest of the index, of equals the longer. Words that the index
 * does not know may be new, or mistyped, or out of a pasted log: they get no more than half of the places.
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
 * The words that are searched: the rarest first, until reading them would take too long. Quoted ones always are.
 *
 * @param postingsMax  Entries of the index that may be read.
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

/**
 * How much it tells that a message holds a word that `count` of `total` messages hold: never below 0, so that a word of
 * nearly all messages does no harm. (SQLite's own `bm25` falls to 0 at half of them, and with it every score of a small store.)
 */
export function idfOf(count: number, total: number): number {
  return Math.log(1 + (Math.max(0, total - count) + 0.5) / (count + 0.5));
}
