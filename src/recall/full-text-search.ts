import type { FullTextRepository, IndexTotals } from "../store/full-text.ts";
import type { Repositories } from "../store/repositories.ts";
import { type SearchScope, withinSessions } from "../store/search-scope.ts";
import { idfOf } from "./bm25.ts";
import { corrected } from "./corrections.ts";
import { holdsPhrases } from "./phrase.ts";
import {
  bestHits,
  countStems,
  type IndexedPostings,
  type Postings,
  postingsIn,
  postingsOf,
  type TextHit,
} from "./postings.ts";
import type { Query } from "./query.ts";
import { affordable, countOf, POSTINGS_MAX, POSTINGS_MAX_AMONG, type QueryTerm, rarest } from "./query-terms.ts";
import { countTail, scanTail, tailCountsOf } from "./tail.ts";

/** At most this many messages, newest first, are checked for the phrases of a query. A check takes 5 µs. */
const COMPARED_MAX = 20_000;

/** If words are too common to look up, a scope of at most this many messages is read whole, at 50 to 100 µs each. */
const READ_MAX = 300;

/** The weight of a word that was guessed, relative to one that was typed. */
const CORRECTED_WEIGHT = 0.5;

/**
 * Finds the messages that match a query by their words, best first, then newest first. The tail, which is not indexed yet, is
 * searched as well.
 *
 * The score is BM25 over name and text. It sums over the query's words that the message has:
 * `sqrt(q) · idf · n · (k1 + 1) / (n + k1 · (1 - b + b · length / mean length))`. The query has the word q times, and the
 * message has it n times. k1 = 1.2, b = 0.75 and idf = ln(1 + (N - df + 0.5) / (df + 0.5)). N is the
 * number of messages in scope, and df is the number of those with the word. If a scope is too large to list, both count the
 * whole store.
 *
 * A word that no message has is searched as the nearest word that some message has (corrections.ts), with less weight.
 *
 * Words that are too common to read in time are left out (query-terms.ts), unless at most 300 messages are searched. A phrase
 * must be in a hit as whole words (phrase.ts). A phrase of stop words alone
 * finds nothing, unless the query also has other words.
 *
 * @param limit  Most messages, from 1.
 * @returns the hits, and the searched words in the order of each hit's `scores`.
 * @throws {StoreError} `STORE_CORRUPT` if the index is damaged; `verify({ rebuild: true })` repairs it.
 */
export function searchFullText(
  repositories: Repositories,
  query: Query,
  scope: SearchScope,
  limit: number,
): { terms: { stem: string; weight: number; typed?: string }[]; hits: TextHit[] } {
  const { database, fullText } = repositories;
  if (query.words.length === 0) return { terms: [], hits: [] };
  return database.read(() => {
    const totals = fullText.totals();
    const known = rarest(query.words, (stem) => fullText.frequencyOf(stem));
    const tail = scanTail(fullText, known);
    const unknown = new Set(known.filter((term) => countOf(term) === 0).map(({ stem }) => stem));
    const words = corrected(fullText, query.words, (stem) => unknown.has(stem));
    if (words !== undefined) return searchFullText(repositories, { ...query, words }, scope, limit);
    const messageCount = totals.messageCount + tail.messageCount;
    const hasPhrases = query.phrases.length > 0;
    const scoped = fullText.idsOf(scope);
    const all = affordable(known, Number.POSITIVE_INFINITY);
    const inTime = affordable(known, hasPhrases || scoped !== undefined ? POSTINGS_MAX_AMONG : POSTINGS_MAX);
    const isReadWhole = inTime.length < all.length && scoped !== undefined && scoped.length <= READ_MAX;
    const terms = isReadWhole ? all : inTime;

    const unindexed = countTail(fullText, terms, query.phrases, scope, {
      idfOfTerm: ({ indexedCount, tailIds }) => idfOf(indexedCount + tailIds.length, messageCount),
      limit,
    });
    const holding = hasPhrases ? new Set(holders(repositories, query, terms, scope)) : undefined;
    const inScope = scoped && new Set(scoped);
    const among = inScope ?? holding ?? fullText.messagesOf(scope);
    const postings = isReadWhole
      ? postingsByReading(fullText, terms, scoped, totals)
      : terms.map(({ stem, indexedCount }) =>
          indexedCount > 0 ? postingsOf(fullText, stem, totals, among) : { messageIds: [], shares: [], indexedCount },
        );

    const tailCounts = tailCountsOf(terms, unindexed, inScope);
    const weights = terms.map(({ count, typed }, index) => {
      const { messageIds, indexedCount } = postings[index]!;
      const indexed = scoped === undefined ? indexedCount : messageIds.length;
      return (
        (typed === undefined ? 1 : CORRECTED_WEIGHT) *
        Math.sqrt(count) *
        idfOf(indexed + tailCounts[index]!, scoped?.length ?? messageCount)
      );
    });

    // Messages of the tail are newer than all indexed messages, so the joined lists are in order.
    const wordCountMean = (totals.wordCount + tail.wordCount) / Math.max(1, messageCount);
    const wanted = unindexed.filter(({ isWanted }) => isWanted);
    wanted.sort((left, right) => left.messageId - right.messageId);
    const joined = postings.map((indexed, index): Postings => {
      const held = holding === undefined ? indexed : heldOf(indexed, holding);
      const newer = postingsIn(wanted, index, wordCountMean);
      if (newer.messageIds.length === 0) return held;
      return {
        messageIds: [...held.messageIds, ...newer.messageIds],
        shares: [...held.shares, ...newer.shares],
      };
    });
    return {
      terms: terms.map(({ stem, typed }, index) => ({
        stem,
        weight: weights[index]!,
        ...(typed !== undefined && { typed }),
      })),
      hits: bestInScope(repositories, bestHits(joined, weights, 2 * limit), scope, limit),
    };
  });
}

/** Returns the best hits in a scope. All hits are already known to be of the scope's sessions. */
function bestInScope(
  { fullText }: Repositories,
  hits: Iterable<TextHit>,
  scope: SearchScope,
  limit: number,
): TextHit[] {
  const best: TextHit[] = [];
  for (const chunk of chunksOf(hits, limit)) {
    const ids = chunk.map(({ messageId }) => messageId);
    const inScope = new Set(fullText.inScope(ids, withinSessions(scope)));
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

/** Computes the postings of a small scope from its texts. Reading the index would be slower. */
function postingsByReading(
  fullText: FullTextRepository,
  terms: readonly QueryTerm[],
  scoped: readonly number[],
  { wordCount, messageCount }: IndexTotals,
): IndexedPostings[] {
  const newestId = fullText.newestId();
  const ids = scoped.filter((id) => id <= newestId).sort((left, right) => left - right);
  const stems = terms.map(({ stem }) => stem);
  const messages = countStems(fullText.texts(ids), stems);
  return terms.map(({ indexedCount }, index) => {
    return { ...postingsIn(messages, index, wordCount / messageCount), indexedCount };
  });
}

function heldOf({ messageIds, shares }: Postings, holding: ReadonlySet<number>): Postings {
  const isHeld = messageIds.map((id) => holding.has(id));
  return { messageIds: messageIds.filter((_, at) => isHeld[at]), shares: shares.filter((_, at) => isHeld[at]) };
}

/** Returns the indexed messages that hold every phrase. */
function holders({ fullText }: Repositories, query: Query, terms: readonly QueryTerm[], scope: SearchScope): number[] {
  const narrowing = query.phrases.map(({ expression }) => expression).filter((expression) => expression !== "");
  const expression = narrowing.length > 0 ? narrowing.join(" AND ") : terms.map(({ word }) => `"${word}"`).join(" OR ");
  if (expression === "") return [];
  const ids: number[] = [];
  for (const [id, text] of fullText.matching(expression, scope, COMPARED_MAX)) {
    if (holdsPhrases(text, query.phrases)) ids.push(id);
  }
  return ids;
}
