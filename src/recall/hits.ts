import type { Postings } from "./postings.ts";

/** A message that was found. */
export interface TextHit {
  messageId: number;
  /** BM25: positive, and comparable only within one search. */
  score: number;
  /** The part of the score from each word; 0 for a word that does not occur. */
  scores: number[];
}

/**
 * Returns the messages that hold any of the words, best first, then newest first.
 *
 * @param postings  The postings of each word.
 * @param weights  The weight of each word.
 * @param likely  The number of hits that the caller will probably read. Only they are sorted, unless it reads more.
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

/** Merges the postings: each message once, with the sum of its words' scores. All lists are in the order of the ids. */
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

/** Returns the share of a message in the postings of a word; 0 if the word does not occur. */
function shareIn({ messageIds, shares }: Postings, messageId: number): number {
  let [from, to] = [0, messageIds.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (messageIds[middle]! < messageId) from = middle + 1;
    else to = middle;
  }
  return messageIds[from] === messageId ? shares[from]! : 0;
}

/** Rounds a score, so that equal scores are equal whatever the order of their sums. */
function rounded(score: number): number {
  return Math.round(score * 1e9) / 1e9;
}
