export interface Postings {
  /** Each once, in order. */
  messageIds: number[];
  /** The factor for the word's weight in each message: see `saturate`. */
  shares: number[];
}

export interface TextHit {
  messageId: number;
  /** BM25: positive, and comparable only within one search. */
  score: number;
  /** The part of the score from each word; 0 for a word that does not occur. */
  scores: number[];
}

/** Scores are counted in this many steps, from 0 to the highest. */
const SCORE_STEPS = 1_000;

/**
 * Returns the messages that hold any of the words, best first, then newest first.
 *
 * @param likely  The number of hits that the caller will probably read. Only these are sorted at first.
 */
export function* bestHits(
  postings: readonly Postings[],
  weights: readonly number[],
  likely: number,
): Generator<TextHit> {
  const { messageIds, scores } = totalsOf(postings, weights);
  const least = leastOfBest(scores, likely);
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

/** Returns a score that at least `count` scores reach, but few more than `count`. No score is negative. */
function leastOfBest(scores: Float64Array, count: number): number {
  let highest = 0;
  for (let index = 0; index < scores.length; index++) highest = Math.max(highest, scores[index]!);
  const step = highest / SCORE_STEPS;
  const counts = new Uint32Array(SCORE_STEPS + 1);
  for (let index = 0; index < scores.length; index++) counts[Math.floor(scores[index]! / step)]! += 1;
  let at = SCORE_STEPS;
  for (let found = counts[at]!; found < count && at > 0; found += counts[at]!) at -= 1;
  return at * step;
}

/** Merges the postings: each message once, in the order of the ids, with the sum of its words' scores. */
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
    scores[count++] = Math.round(score * 1e9) / 1e9; // the order of a sum must not matter
  }
  return { messageIds: messageIds.subarray(0, count), scores: scores.subarray(0, count) };
}

function shareIn({ messageIds, shares }: Postings, messageId: number): number {
  let [from, to] = [0, messageIds.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (messageIds[middle]! < messageId) from = middle + 1;
    else to = middle;
  }
  return messageIds[from] === messageId ? shares[from]! : 0;
}
