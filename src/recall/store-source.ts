import { formatHandle } from "../core/handle.ts";
import { searchable, searchStem } from "../models/search-words.ts";
import type { FullTextRepository, IndexTotals } from "../store/full-text.ts";
import type { Repositories } from "../store/repositories.ts";
import { type SearchScope, withinSessions } from "../store/search-scope.ts";
import { idfOf, saturate } from "./bm25.ts";
import { countStems, postingsIn } from "./counted-messages.ts";
import { expressionOf, holdsPhrases } from "./phrase.ts";
import type { Postings } from "./postings.ts";
import type { Query, QueryWord } from "./query.ts";
import { affordable, POSTINGS_MAX, POSTINGS_MAX_AMONG, rarest } from "./query-terms.ts";
import type { Found, Lookup, Source } from "./source.ts";
import { countTail, scanTail, type Tail, type TailTerm, tailCountsOf } from "./tail.ts";

/** At most this many messages, newest first, are checked for the phrases of a query. A check takes 5 µs. */
const COMPARED_MAX = 20_000;

/** If words are too common to look up, a scope of at most this many messages is read whole, at 50 to 100 µs each. */
const READ_MAX = 300;

/** The most stems with the same beginning that are compared, at about 1 µs each. */
const STEMS_MAX = 20_000;

/**
 * The messages of a store, as a search reads them. Words are looked up in the full-text index. The tail, which is not indexed
 * yet, is read once for each query.
 *
 * Words that are too common to read in time are left out (query-terms.ts), unless at most 300 messages are searched. In a scope
 * of at most 5,000 messages, words are counted in the scope, otherwise in the whole store.
 *
 * The methods throw `STORE_CORRUPT` if the index is damaged; `verify({ rebuild: true })` repairs it.
 */
export function storeSource({ fullText, evidence, unions }: Repositories, scope: SearchScope = {}): Source {
  // In a search of one fork, what it shares counts as its own.
  const forkId = scope.shared !== undefined && scope.sessionIds?.length === 1 ? scope.sessionIds[0] : undefined;
  return {
    lookUp: (words) => lookUp(fullText, words),
    inScope: (ids, scope) => fullText.inScope(ids, withinSessions(scope)),
    around: (ids, radius) =>
      forkId === undefined ? evidence.around(ids, radius) : evidence.aroundIn(forkId, ids, radius),
    rows: (ids) =>
      forkId === undefined ? evidence.rows(ids) : evidence.rows(ids).map((row) => ({ ...row, sessionId: forkId })),
    texts: (ids) => evidence.texts(ids),
    textsOf: (ids) => evidence.textsOf(ids),
    embeddings: (ids, embedderId) => evidence.embeddings(ids, embedderId),
    clusterOf: (sessionId, stepId) => {
      const root = unions.entered(sessionId, stepId)?.clusterRoot;
      return root === undefined ? null : formatHandle("cluster", root, unions.lastPosition(sessionId));
    },
  };
}

function lookUp(fullText: FullTextRepository, words: readonly QueryWord[]): Lookup {
  const totals = fullText.totals();
  const indexed = rarest(words, (stem) => fullText.frequencyOf(stem));
  const tail = scanTail(fullText, indexed);
  const terms = indexed.map((term, index): TailTerm => {
    const tailIds = tail.idsOf[index]!;
    return { ...term, messageCount: term.messageCount + tailIds.length, tailIds };
  });
  return {
    terms,
    stemsFrom: (beginning) => stemsFrom(fullText, beginning),
    found: (query, scope, limit) => found(fullText, { totals, terms, tail }, query, scope, limit),
  };
}

function found(
  fullText: FullTextRepository,
  { totals, terms: known, tail }: { totals: IndexTotals; terms: readonly TailTerm[]; tail: Tail },
  query: Query,
  scope: SearchScope,
  limit: number,
): Found {
  const messageCount = totals.messageCount + tail.messageCount;
  const hasPhrases = query.phrases.length > 0;
  const scoped = fullText.idsOf(scope);
  const all = affordable(known, Number.POSITIVE_INFINITY);
  const inTime = affordable(known, hasPhrases || scoped !== undefined ? POSTINGS_MAX_AMONG : POSTINGS_MAX);
  const isReadWhole = inTime.length < all.length && scoped !== undefined && scoped.length <= READ_MAX;
  const terms = isReadWhole ? all : inTime;

  const unindexed = countTail(fullText, terms, query.phrases, scope, {
    idfOfTerm: (term) => idfOf(term.messageCount, messageCount),
    limit,
  });
  const holding = hasPhrases ? new Set(holders(fullText, query, terms, scope)) : undefined;
  const inScope = scoped && new Set(scoped);
  const among = inScope ?? holding ?? fullText.messagesOf(scope);
  const postings = isReadWhole
    ? postingsByReading(fullText, terms, scoped, totals)
    : terms.map((term) => (isIndexed(term) ? postingsOf(fullText, term.stem, totals, among) : NONE));

  // Messages of the tail are newer than all indexed messages, so the joined lists are in order.
  const wordCountMean = (totals.wordCount + tail.wordCount) / Math.max(1, messageCount);
  const wanted = unindexed.filter(({ isWanted }) => isWanted);
  wanted.sort((left, right) => left.messageId - right.messageId);
  const tailCounts = tailCountsOf(terms, unindexed, inScope);
  return {
    messageCount: scoped?.length ?? messageCount,
    terms: terms.map((term, index) => {
      const { indexedCount, ...indexed } = postings[index]!;
      const held = holding === undefined ? indexed : heldOf(indexed, holding);
      const newer = postingsIn(wanted, index, wordCountMean);
      return {
        term,
        holderCount: (scoped === undefined ? indexedCount : indexed.messageIds.length) + tailCounts[index]!,
        postings: newer.messageIds.length === 0 ? held : joined(held, newer),
      };
    }),
  };
}

/** `indexedCount` counts all indexed messages that hold the stem. */
type IndexedPostings = Postings & { indexedCount: number };

const NONE: IndexedPostings = { messageIds: [], shares: [], indexedCount: 0 };

function isIndexed({ messageCount, tailIds }: TailTerm): boolean {
  return messageCount > tailIds.length;
}

/**
 * Reads the postings of a stem from the index. SQLite's `bm25` gives equal scores in five times the time.
 *
 * @param among  Only these messages are returned; all are counted.
 */
function postingsOf(
  fullText: FullTextRepository,
  stem: string,
  { wordCount, messageCount }: IndexTotals,
  among: { has(messageId: number): boolean } | undefined,
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

/** Computes the postings of a small scope from its texts. Reading the index would be slower. */
function postingsByReading(
  fullText: FullTextRepository,
  terms: readonly TailTerm[],
  scoped: readonly number[],
  { wordCount, messageCount }: IndexTotals,
): IndexedPostings[] {
  const newestId = fullText.newestId();
  const ids = scoped.filter((id) => id <= newestId).sort((left, right) => left - right);
  const stems = terms.map(({ stem }) => stem);
  const messages = countStems(fullText.texts(ids), stems);
  return terms.map((_, index) => {
    const postings = postingsIn(messages, index, wordCount / messageCount);
    return { ...postings, indexedCount: postings.messageIds.length };
  });
}

function heldOf({ messageIds, shares }: Postings, holding: ReadonlySet<number>): Postings {
  const isHeld = messageIds.map((id) => holding.has(id));
  return { messageIds: messageIds.filter((_, at) => isHeld[at]), shares: shares.filter((_, at) => isHeld[at]) };
}

function joined(older: Postings, newer: Postings): Postings {
  return {
    messageIds: [...older.messageIds, ...newer.messageIds],
    shares: [...older.shares, ...newer.shares],
  };
}

/** Returns the indexed messages that hold every phrase. */
function holders(fullText: FullTextRepository, query: Query, terms: readonly TailTerm[], scope: SearchScope): number[] {
  const narrowing = query.phrases.map(expressionOf).filter((expression) => expression !== "");
  const expression = narrowing.length > 0 ? narrowing.join(" AND ") : terms.map(({ word }) => `"${word}"`).join(" OR ");
  if (expression === "") return [];
  const ids: number[] = [];
  for (const [id, text] of fullText.matching(expression, scope, COMPARED_MAX)) {
    if (holdsPhrases(text, query.phrases)) ids.push(id);
  }
  return ids;
}

/** Returns the stems with this beginning, and how many messages have each. */
function stemsFrom(fullText: FullTextRepository, beginning: string): Map<string, number> {
  const stems = new Map(fullText.stemsFrom(beginning, STEMS_MAX));
  const inTail = new RegExp(`(?<![\\p{L}\\p{N}])${beginning}\\p{L}+`, "gu");
  for (const [, text] of fullText.eachOfTail()) {
    const found = new Set(searchable(text).match(inTail)?.map(searchStem));
    for (const stem of found) stems.set(stem, (stems.get(stem) ?? 0) + 1);
  }
  return stems;
}
