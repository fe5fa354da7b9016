import { everyWord, forEachSearchWord, searchStem, searchWords } from "../models/search-words.ts";
import { idfOf, saturate } from "./bm25.ts";

export interface RankedText {
  /** Its place in the given list. */
  index: number;
  score: number;
}

/**
 * Ranks texts by the words that they share with a query, best first, and leaves out those that share none. Words are compared by
 * their stems, as in a search of messages. Stop words count only if the query has no others. Every text is read, at some microseconds each.
 */
export function rankTexts(query: string, texts: readonly string[]): RankedText[] {
  let hasOnlyStopWords = true;
  forEachSearchWord(query, () => {
    hasOnlyStopWords = false;
  });
  const wordsOf = hasOnlyStopWords ? everyWord : searchWords;
  const wanted = new Set(wordsOf(query).map(searchStem));
  const counts = texts.map((text) => countOf(wordsOf(text).map(searchStem), wanted));
  const meanLength = counts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, texts.length);
  const holders = new Map([...wanted].map((word) => [word, counts.filter(({ found }) => found.has(word)).length]));
  const ranked = counts.map(({ found, length }, index) => {
    let score = 0;
    for (const [word, count] of found) {
      score += idfOf(holders.get(word)!, texts.length) * saturate(count, length / meanLength);
    }
    return { index, score };
  });
  return ranked.filter(({ score }) => score > 0).sort((left, right) => right.score - left.score);
}

function countOf(
  words: readonly string[],
  wanted: ReadonlySet<string>,
): { found: Map<string, number>; length: number } {
  const found = new Map<string, number>();
  for (const word of words) if (wanted.has(word)) found.set(word, (found.get(word) ?? 0) + 1);
  return { found, length: words.length };
}
