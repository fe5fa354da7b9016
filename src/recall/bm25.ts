/** BM25's parameters: `K1` limits the weight of repetitions of a word, `B` that of a message's length. */
const K1 = 1.2;
const B = 0.75;

export const SATURATION_MAX = K1 + 1;

/** No frequency is higher. A share close to its limit would give an infinite one. */
const FREQUENCY_MAX = 1_000;

/**
 * Returns BM25's factor for a word in one message, from 0 to 2.2. It grows with the number of occurrences, and shrinks with the
 * length of the message.
 *
 * @param lengthRatio  The words of the message over the mean of all messages.
 */
export function saturate(count: number, lengthRatio = 1): number {
  return (count * SATURATION_MAX) / (count + K1 * (1 - B + B * lengthRatio));
}

/** The inverse of `saturate` for a message of mean length. */
export function unsaturate(share: number): number {
  return (K1 * share) / Math.max(SATURATION_MAX - share, K1 / FREQUENCY_MAX);
}

/**
 * Returns the weight of a word that `count` of `total` messages hold. It is always above 0. SQLite's `bm25` gives 0 to a word
 * that half of the messages hold, so most scores of a small store would be 0.
 */
export function idfOf(count: number, total: number): number {
  return Math.log(1 + (Math.max(0, total - count) + 0.5) / (count + 0.5));
}
