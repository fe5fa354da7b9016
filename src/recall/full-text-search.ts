import type { SearchScope } from "../store/index.ts";
import { idfOf } from "./bm25.ts";
import { corrected } from "./corrections.ts";
import { bestHits, type TextHit } from "./postings.ts";
import type { Query } from "./query.ts";
import type { QueryTerm } from "./query-terms.ts";
import type { Source } from "./source.ts";

/** The weight of a word that was guessed, relative to one that was typed. */
export const CORRECTED_WEIGHT = 0.5;

/** No word of a small project is rare among its messages alone. */
const IMAGINED_MESSAGES = 2_000;

interface TextSearch {
  /** The searched words, in the order of each hit's `scores`. `rareness` is the weight that it would have among 2,000 more messages. */
  terms: { stem: string; weight: number; rareness: number; typed?: string; pieceOf?: string }[];
  /** The words that no message has, without those that were corrected. */
  unknown: readonly QueryTerm[];
  /** The rareness of a word that no message has. */
  rarenessMax: number;
  hits: TextHit[];
}

/**
 * Finds the messages that match a query by their words, best first, then newest first.
 *
 * The score is BM25 over name and text. It sums over the query's words that the message has:
 * `sqrt(q) · idf · n · (k1 + 1) / (n + k1 · (1 - b + b · length / mean length))`. The query has the word q times, and the
 * message has it n times. k1 = 1.2, b = 0.75 and idf = ln(1 + (N - df + 0.5) / (df + 0.5)). N is the
 * number of messages in the sessions of the scope, and df is the number of those with the word. So messages of other projects do
 * not change the score.
 *
 * A word that no message has is searched as the nearest word that some message has (corrections.ts), with less weight.
 *
 * A phrase must be in a hit as whole words (phrase.ts). If it is in none, the letters of the newest messages are compared.
 *
 * @param limit  Most messages, from 1.
 */
export function searchFullText(source: Source, query: Query, scope: SearchScope, limit: number): TextSearch {
  if (query.words.length === 0) {
    return { terms: [], unknown: [], rarenessMax: 0, hits: lettersOnly(source, query, scope, limit, 0) };
  }
  const lookup = source.lookUp(query, scope);
  const unknown = new Set(lookup.terms.filter(({ messageCount }) => messageCount === 0).map(({ stem }) => stem));
  const words = corrected(query.words, (stem) => unknown.has(stem), lookup);
  if (words !== undefined) return searchFullText(source, { ...query, words }, scope, limit);
  const { terms, messageCount } = lookup.found(limit);
  const weightsAmong = (count: number): number[] =>
    terms.map(({ term, holderCount }) => {
      return (term.typed === undefined ? 1 : CORRECTED_WEIGHT) * Math.sqrt(term.count) * idfOf(holderCount, count);
    });
  const weights = weightsAmong(messageCount);
  const rareness = weightsAmong(messageCount + IMAGINED_MESSAGES);
  const postings = terms.map(({ postings }) => postings);
  const hits = bestInScope(source, bestHits(postings, weights, 2 * limit), scope, limit);
  return {
    terms: terms.map(({ term: { stem, typed, pieceOf } }, index) => ({
      stem,
      weight: weights[index]!,
      rareness: rareness[index]!,
      ...(typed !== undefined && { typed }),
      ...(pieceOf !== undefined && { pieceOf }),
    })),
    unknown: lookup.terms.filter(({ messageCount }) => messageCount === 0),
    rarenessMax: idfOf(0, messageCount + IMAGINED_MESSAGES),
    hits: hits.length > 0 ? hits : lettersOnly(source, query, scope, limit, terms.length),
  };
}

/** Finds the messages that hold the query's phrases as signs, such as `=>`, or within words, such as a part of a hash. */
function lettersOnly(
  source: Source,
  { phrases }: Query,
  scope: SearchScope,
  limit: number,
  wordCount: number,
): TextHit[] {
  if (phrases.length === 0) return [];
  const ids = source.holdingLetters(phrases, scope, limit);
  return ids.map((messageId) => ({ messageId, score: 0, scores: new Array<number>(wordCount).fill(0) }));
}

/** Returns the best hits in a scope. All hits are already known to be of the scope's sessions. */
function bestInScope(source: Source, hits: Iterable<TextHit>, scope: SearchScope, limit: number): TextHit[] {
  const best: TextHit[] = [];
  for (const chunk of chunksOf(hits, limit)) {
    const ids = chunk.map(({ messageId }) => messageId);
    const inScope = new Set(source.inScope(ids, scope));
    for (const hit of chunk) if (inScope.has(hit.messageId)) best.push(hit);
    if (best.length >= limit) break;
  }
  return best.slice(0, limit);
}

/** Yields items in chunks of `size`, and reads each chunk only when it is needed. */
export function* chunksOf<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const item of items) {
    chunk.push(item);
    if (chunk.length < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}
