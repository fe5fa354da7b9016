import type { QueryWord } from "./query.ts";

/** The most words of a query that are searched. A few dozen rare words say what a long text is about. */
const TERMS_MAX = 64;

/** This many of the rarest words are always searched. */
const TERMS_MIN = 2;

/** The most entries of the index that a search reads, at 0.2 µs each. Common words are left out to stay below this limit. */
export const POSTINGS_MAX = 15_000;

/** The limit of a search that scores only some messages. It skips the entries of the others, which is faster. */
export const POSTINGS_MAX_AMONG = 5 * POSTINGS_MAX;

export interface QueryTerm extends QueryWord {
  /** How many messages hold the term. The number may be off by a tenth. */
  messageCount: number;
}

/**
 * Returns the words to search: quoted words first, then the rarest, then the longest. Unknown words are at most half of the
 * result, because many are typing errors or parts of a pasted log.
 */
export function rarest(words: readonly QueryWord[], frequencyOf: (stem: string) => number): QueryTerm[] {
  const terms = words.map((word) => ({ ...word, messageCount: frequencyOf(word.stem) }));
  if (terms.length <= TERMS_MAX) return terms;
  const byRarity = terms.toSorted(
    (left, right) =>
      Number(right.isQuoted) - Number(left.isQuoted) ||
      left.messageCount - right.messageCount ||
      right.word.length - left.word.length,
  );
  const known = byRarity.filter(({ messageCount }) => messageCount > 0);
  const unknown = byRarity.filter(({ messageCount }) => messageCount === 0);
  const knownCount = Math.min(known.length, Math.max(TERMS_MAX / 2, TERMS_MAX - unknown.length));
  return [...known.slice(0, knownCount), ...unknown.slice(0, TERMS_MAX - knownCount)];
}

/**
 * Returns the rarest words whose index entries together are at most `postingsMax`. Quoted words and the two rarest are always
 * included.
 */
export function affordable<Term extends QueryTerm>(terms: readonly Term[], postingsMax: number): Term[] {
  const found = terms.filter(({ messageCount }) => messageCount > 0);
  found.sort((left, right) => left.messageCount - right.messageCount);
  let postings = 0;
  return found.filter(({ messageCount, isQuoted }, index) => {
    const isAffordable = index < TERMS_MIN || isQuoted || postings + messageCount <= postingsMax;
    if (isAffordable) postings += messageCount;
    return isAffordable;
  });
}
