import { searchStem, searchWords } from "../models/search-words.ts";
import type { FullTextRepository, IndexTotals, SearchText } from "../store/full-text.ts";
import { saturate } from "./bm25.ts";

export interface Postings {
  /** Each once, in order. */
  messageIds: number[];
  /** The factor for the word's weight in each message: see `saturate`. */
  shares: number[];
}

/** `indexedCount` counts all indexed messages that hold the stem. */
export type IndexedPostings = Postings & { indexedCount: number };

/**
 * Reads the postings of a stem from the index. SQLite's `bm25` gives equal scores in five times the time.
 * @param among  Only these messages are returned; all are counted.
 */
export function postingsOf(
  fullText: FullTextRepository,
  stem: string,
  { wordCount, messageCount }: IndexTotals,
  among?: { has(messageId: number): boolean },
): IndexedPostings {
  const messageIds: number[] = [];
  const counts: number[] = [];
  let indexedCount = 0;
  let last = -1;
  let isAmong = false;
  for (const id of fullText.occurrences(stem)) {
    if (id !== last) {
      last = id;
      indexedCount += 1;
      isAmong = among === undefined || among.has(id);
      if (isAmong) {
        messageIds.push(id);
        counts.push(1);
      }
    } else if (isAmong) counts[counts.length - 1]! += 1;
  }
  const lengths = fullText.lengthsOf(messageIds);
  const lengthMean = wordCount / messageCount;
  const shares = counts.map((count, index) => saturate(count, lengths[index]! / lengthMean));
  return { messageIds, shares, indexedCount };
}

export interface CountedMessage {
  messageId: number;
  wordCount: number;
  counts: number[];
}

/** Counts the stems in texts, at 50 to 100 µs each. */
export function countStems(texts: Iterable<SearchText>, stems: readonly string[]): CountedMessage[] {
  const indexOf = new Map(stems.map((stem, index) => [stem, index]));
  const stemOf = new Map<string, string>();
  return Array.from(texts, ({ id, text }) => {
    const words = searchWords(text);
    const counts = stems.map(() => 0);
    for (const word of words) {
      let stem = stemOf.get(word);
      if (stem === undefined) {
        stem = searchStem(word);
        stemOf.set(word, stem);
      }
      const index = indexOf.get(stem);
      if (index !== undefined) counts[index]! += 1;
    }
    return { messageId: id, wordCount: words.length, counts };
  });
}

/** Returns the postings of the stem at `index`. @param messages  In the order of their ids. */
export function postingsIn(messages: readonly CountedMessage[], index: number, lengthMean: number): Postings {
  const holding = messages.filter(({ counts }) => counts[index]! > 0);
  return {
    messageIds: holding.map(({ messageId }) => messageId),
    shares: holding.map(({ counts, wordCount }) => saturate(counts[index]!, wordCount / lengthMean)),
  };
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
