import type { Postings } from "./postings.ts";

/** A message that was found. */
export interface TextHit {
  messageId: number;
  /** BM25: positive, and comparable only within one search. */
  score: number;
  /** What of it each of the words gives; 0 for one that does not occur. */
  scores: number[];
}

/**
 * The messages that hold any of some words, best first, of equals the newest. All lists are read side by side, once: they
 * are in the same order.
 *
 * @param postings  Of each word.
 * @param weights  Of each word, in the same order.
 * @param likely  So many will probably do: they are found without the others being put in order.
 */
export function* bestHits(
  postings: readonly Postings[],
  weights: readonly number[],
  likely: number,
): Generator<TextHit> {
  const { messageIds, scores } = totalsOf(postings, weights);
  const least = scores.toSorted()[Math.max(0, scores.length - likely)] ?? 0;
  for (const isAmongBest of [true, false]) {
    const indexes: number[] = [];
    for (let index = 0; index < scores.length; index++)
      if (scores[index]! >= least === isAmongBest) indexes.push(index);
    indexes.sort((left, right) => scores[right]! - scores[left]! || messageIds[right]! - messageIds[left]!);
    for (const index of indexes) {
      const messageId = messageIds[index]!;
      yield {
        messageId,
        score: scores[index]!,
        scores: postings.map((list, word) => weights[word]! * shareIn(list, messageId)),
      };
    }
  }
}

/** Each message once, and what its words are worth together. */
function totalsOf(
  postings: readonly Postings[],
  weights: readonly number[],
): { messageIds: Float64Array; scores: Float64Array } {
  const countMax = postings.reduce((sum, list) => sum + list.messageIds.length, 0);
  const messageIds = new Float64Array(countMax);
  const scores = new Float64Array(countMax);
  const positions = new Uint32Array(postings.length);
  const heads = Float64Array.from(postings, (list) => list.messageIds[0] ?? Number.POSITIVE_INFINITY);
  let count = 0;
  for (;;) {
    let next = Number.POSITIVE_INFINITY;
    for (let word = 0; word < heads.length; word++) if (heads[word]! < next) next = heads[word]!;
    if (next === Number.POSITIVE_INFINITY) break;
    let score = 0;
    for (let word = 0; word < heads.length; word++) {
      if (heads[word] !== next) continue;
      const list = postings[word]!;
      const position = positions[word]!++;
      score += weights[word]! * list.shares[position]!;
      heads[word] = list.messageIds[position + 1] ?? Number.POSITIVE_INFINITY;
    }
    messageIds[count] = next;
    scores[count++] = rounded(score);
  }
  return { messageIds: messageIds.subarray(0, count), scores: scores.subarray(0, count) };
}

/** What a word's frequency in a message makes of its weight; 0 where it does not occur. */
function shareIn({ messageIds, shares }: Postings, messageId: number): number {
  let [from, to] = [0, messageIds.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (messageIds[middle]! < messageId) from = middle + 1;
    else to = middle;
  }
  return messageIds[from] === messageId ? shares[from]! : 0;
}

/** So that equals are equal, whichever of the two ways their scores were reckoned. */
function rounded(score: number): number {
  return Math.round(score * 1e9) / 1e9;
}
