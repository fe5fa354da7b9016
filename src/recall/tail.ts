import { DamageError } from "../core/damage.ts";
import { searchable, searchStem, searchWords, stemBeginning } from "../models/search-words.ts";
import type { FullTextRepository, IndexTotals, SearchScope, SearchText } from "../store/index.ts";
import { saturate } from "./bm25.ts";
import { holdsPhrases, type Phrase } from "./phrase.ts";
import type { Postings } from "./postings.ts";
import type { QueryTerm } from "./query-terms.ts";

/** A search counts the words of this many messages, at 50 to 100 µs each, or of `limit` messages if that is more. */
const COUNTED_MIN = 300;

const SAMPLE_MAX = 64;

/** The number of messages and words of the tail. With more than 64 messages, the words are estimated from a sample. */
export interface Tail extends IndexTotals {
  /** For each word the messages that hold the beginning of its stem. */
  idsOf: readonly (readonly number[])[];
}

/**
 * Reads the tail once. This takes 5 µs for a message of 600 characters.
 *
 * @param among  Other messages are left out.
 */
export function scanTail(
  fullText: FullTextRepository,
  terms: readonly { stem: string }[],
  among?: { has(messageId: number): boolean },
): Tail {
  const beginnings = terms.map(({ stem }) => ({ beginning: stemBeginning(stem), tailIds: [] as number[] }));
  let messageCount = 0;
  let chars = 0;
  let sample: string[] = [];
  let step = 1; // every step-th message is in the sample
  for (const [id, text] of fullText.eachOfTail()) {
    if (among?.has(id) === false) continue;
    if (typeof text !== "string") throw new DamageError(`message ${id} has no text`); // its checksum is not compared
    if (messageCount++ % step === 0) sample.push(text);
    if (sample.length > SAMPLE_MAX) {
      sample = sample.filter((_, index) => index % 2 === 0);
      step *= 2;
    }
    chars += text.length;
    const compared = searchable(text);
    for (const { beginning, tailIds } of beginnings) if (compared.includes(beginning)) tailIds.push(id);
  }
  const sampledChars = sample.reduce((sum, text) => sum + text.length, 0);
  const sampledWords = sample.reduce((sum, text) => sum + searchWords(text).length, 0);
  const wordCount = sampledChars === 0 ? 0 : (sampledWords / sampledChars) * chars;
  return { messageCount, wordCount, idsOf: beginnings.map(({ tailIds }) => tailIds) };
}

export interface TailTerm extends QueryTerm {
  /** The messages of the tail that may hold it. */
  tailIds: readonly number[];
}

export interface TailMessage extends CountedMessage {
  /** True if it is in scope and holds every phrase. */
  isWanted: boolean;
}

/**
 * Counts the words of the tail's messages that may hold a term. If there are too many, the wanted messages come first, then
 * those with the rarest terms.
 */
export function countTail(
  fullText: FullTextRepository,
  terms: readonly TailTerm[],
  phrases: readonly Phrase[],
  scope: SearchScope,
  { idfOfTerm, limit }: { idfOfTerm: (term: TailTerm) => number; limit: number },
): TailMessage[] {
  const promise = new Map<number, number>();
  for (const term of terms) {
    const idf = idfOfTerm(term);
    for (const id of term.tailIds) promise.set(id, (promise.get(id) ?? 0) + idf);
  }
  const ids = [...promise.keys()].sort((left, right) => promise.get(right)! - promise.get(left)! || right - left);
  const wanted = new Set(fullText.inScope(ids, scope));
  if (phrases.length > 0) {
    for (const { id, text } of fullText.texts([...wanted])) if (!holdsPhrases(text, phrases)) wanted.delete(id);
  }
  const counted = [...wanted, ...ids.filter((id) => !wanted.has(id))].slice(0, Math.max(COUNTED_MIN, limit));
  const stems = terms.map(({ stem }) => stem);
  return countStems(fullText.texts(counted), stems).map((message) => ({
    ...message,
    isWanted: wanted.has(message.messageId),
  }));
}

/**
 * Estimates how many messages of the tail hold each term. `tailIds` also has messages that hold only the beginning of the
 * stem. So the share of true hits is measured on the counted messages, and applied to all.
 */
export function tailCountsOf(terms: readonly TailTerm[], counted: readonly TailMessage[]): number[] {
  const countedIds = new Set(counted.map(({ messageId }) => messageId));
  return terms.map(({ tailIds }, index) => {
    const idCount = tailIds.filter((id) => countedIds.has(id)).length;
    const holdingCount = counted.filter(({ counts }) => counts[index]! > 0).length;
    return idCount === 0 ? 0 : (tailIds.length * holdingCount) / idCount;
  });
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
