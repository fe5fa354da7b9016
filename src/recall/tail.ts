import { searchable, searchWords, stemBeginning } from "../models/search-words.ts";
import type { FullTextRepository } from "../store/full-text.ts";
import type { SearchScope } from "../store/search-scope.ts";
import { holdsPhrases, type Phrase } from "./phrase.ts";
import { type Counted, countStems } from "./postings.ts";
import type { QueryTerm } from "./query-terms.ts";

/** Messages of the tail that are taken apart for one search, at 50 to 100 µs each: the most promising, and no fewer than are asked for. */
const TAKEN_APART_MIN = 300;

/** Messages from which the length of all is estimated, evenly spaced. */
const SAMPLE_MAX = 64;

/** The messages behind the index, as far as a query must know all of them. */
export interface Tail {
  messageCount: number;
  /** Words of all of them, estimated from a sample and the characters of all; exact up to 64 messages. */
  wordCount: number;
}

/**
 * Look through the messages that are not yet indexed, once, and note in each term which of them may hold it: those in which
 * the beginning of its stem stands anywhere. 5 µs for a message of 600 characters.
 */
export function scanTail(fullText: FullTextRepository, terms: readonly QueryTerm[]): Tail {
  const beginnings = terms.map(({ stem, tailIds }) => ({ beginning: stemBeginning(stem), tailIds }));
  let messageCount = 0;
  let chars = 0;
  const sample = new Sample();
  for (const [id, text] of fullText.eachOfTail()) {
    messageCount += 1;
    chars += text.length;
    sample.offer(text);
    const compared = searchable(text);
    for (const { beginning, tailIds } of beginnings) if (compared.includes(beginning)) tailIds.push(id);
  }
  return { messageCount, wordCount: sample.wordsOf(chars) };
}

/** Every message, then every second, every fourth: at least half of `SAMPLE_MAX` of however many there are. */
class Sample {
  readonly #texts: string[] = [];
  #step = 1;
  #seen = 0;

  offer(text: string): void {
    if (this.#seen++ % this.#step !== 0) return;
    if (this.#texts.length === SAMPLE_MAX) {
      for (let index = SAMPLE_MAX - 1; index > 0; index -= 2) this.#texts.splice(index, 1);
      this.#step *= 2;
      if ((this.#seen - 1) % this.#step !== 0) return;
    }
    this.#texts.push(text);
  }

  /** Words in a text of so many characters, if it is like the sample. */
  wordsOf(chars: number): number {
    const sampledChars = this.#texts.reduce((sum, text) => sum + text.length, 0);
    const sampledWords = this.#texts.reduce((sum, text) => sum + searchWords(text).length, 0);
    return sampledChars === 0 ? 0 : (sampledWords / sampledChars) * chars;
  }
}

/** A message of the tail, word by word. */
export interface TailMessage extends Counted {
  /** In scope, and with every phrase. */
  isWanted: boolean;
}

/**
 * Take apart the messages of the tail that may hold any of the terms, in no order. Of very many, those that are wanted
 * come first, then the most promising.
 *
 * @param limit  Most messages that will be asked for.
 */
export function takeTailApart(
  fullText: FullTextRepository,
  terms: readonly QueryTerm[],
  phrases: readonly Phrase[],
  scope: SearchScope,
  { idfOfTerm, limit }: { idfOfTerm: (term: QueryTerm) => number; limit: number },
): TailMessage[] {
  const promise = new Map<number, number>();
  for (const term of terms) {
    const idf = idfOfTerm(term);
    for (const id of term.tailIds) promise.set(id, (promise.get(id) ?? 0) + idf);
  }
  const ids = [...promise.keys()].sort((left, right) => promise.get(right)! - promise.get(left)! || right - left);
  const wanted = new Set(fullText.inScope(ids, scope));
  if (phrases.length > 0) {
    for (const { id, text } of fullText.texts([...wanted])) {
      if (!holdsPhrases(text, phrases)) wanted.delete(id);
    }
  }
  const taken = [...wanted, ...ids.filter((id) => !wanted.has(id))].slice(0, Math.max(TAKEN_APART_MIN, limit));
  const stems = terms.map(({ stem }) => stem);
  return countStems(fullText.texts(taken), stems).map((message) => ({
    ...message,
    isWanted: wanted.has(message.messageId),
  }));
}

/**
 * In how many messages of the tail each term really occurs, if those not taken apart are like the others: not every message
 * with the letters of a stem has a word of it.
 *
 * @param among  Count only these.
 */
export function tailCountsOf(
  terms: readonly QueryTerm[],
  messages: readonly TailMessage[],
  among?: ReadonlySet<number>,
): number[] {
  const counted = messages.filter(({ messageId }) => among?.has(messageId) ?? true);
  const takenIds = new Set(counted.map(({ messageId }) => messageId));
  return terms.map(({ tailIds }, index) => {
    const ids = among === undefined ? tailIds : tailIds.filter((id) => among.has(id));
    const taken = ids.filter((id) => takenIds.has(id)).length;
    const holding = counted.filter(({ counts }) => counts[index]! > 0).length;
    return taken === 0 ? 0 : (ids.length * holding) / taken;
  });
}
