import { formatHandle } from "../core/handle.ts";
import { searchable, searchStem } from "../models/search-words.ts";
import {
  areCopies,
  type FullTextRepository,
  type KnownOrigin,
  type Repositories,
  type SearchScope,
} from "../store/index.ts";
import { idfOf, saturate } from "./bm25.ts";
import { expressionOf, holdsLetters, holdsPhrases } from "./phrase.ts";
import type { Postings } from "./postings.ts";
import type { Query } from "./query.ts";
import { affordable, POSTINGS_MAX, POSTINGS_MAX_AMONG, rarest } from "./query-terms.ts";
import type { Found, Lookup, Source } from "./source.ts";
import { countStems, countTail, postingsIn, scanTail, type Tail, type TailTerm, tailCountsOf } from "./tail.ts";

/** At most this many messages, newest first, are checked for the phrases of a query. A check takes 5 µs. */
const COMPARED_MAX = 20_000;

/** At most this many messages, newest first, are read for a phrase that the index cannot find. Reading one takes 10 µs. */
const LETTERS_MAX = 50_000;

/** If words are too common to look up, a scope of at most this many messages is read whole, at 50 to 100 µs each. */
const READ_MAX = 300;

/** The most stems with the same beginning that are compared, at about 1 µs each. */
const STEMS_MAX = 20_000;

/**
 * The messages of a store, as a search reads them. Words are looked up in the full-text index. The tail, which is not indexed
 * yet, is read once for each query.
 *
 * Words are counted in the sessions of the scope, so that messages of others do not change the answer. But words that are too common
 * in the whole store to be read in time are left out (query-terms.ts), unless at most 300 messages are searched.
 *
 * The methods throw `STORE_CORRUPT` if the index is damaged; `verify({ rebuild: true })` repairs it.
 */
export function storeSource(
  { fullText, evidence, unions, origins, actions, sessions, remembered }: Repositories,
  scope: SearchScope = {},
): Source {
  const asked = scope.sessionIds?.length === 1 ? scope.sessionIds[0] : undefined;
  const knownOrigins = new Map<number, KnownOrigin>();
  const linesOf = new Map<string, readonly string[]>();
  const originOf = (id: number): KnownOrigin => {
    const origin = knownOrigins.get(id) ?? origins.of([id], linesOf).get(id)!;
    knownOrigins.set(id, origin);
    return origin;
  };
  return {
    lookUp: (query, scope) => lookUp(fullText, query, scope),
    holdingLetters: (phrases, scope, limit) => {
      const ids: number[] = [];
      for (const [id, text] of fullText.newest(scope, LETTERS_MAX)) {
        if (holdsLetters(text, phrases)) ids.push(id);
        if (ids.length === limit) break;
      }
      return ids;
    },
    inScope: (ids, scope) => fullText.inScope(ids, scope),
    around: (ids, radius) => evidence.around(ids, radius, asked),
    rows: (ids) => evidence.rows(ids, asked),
    texts: (ids) => evidence.texts(ids),
    actions: (ids) => actions.shownWith(ids),
    verdictsOn: (ids) => remembered.verdictsOn(ids),
    textsOf: (ids) => evidence.textsOf(ids),
    closing: (ids) => evidence.closing(ids),
    embeddings: (ids, embedderId) => evidence.embeddings(ids, embedderId),
    areCopies: (messageId, otherId) => areCopies(originOf(messageId), originOf(otherId)),
    areOfOneProject: (sessionId, otherId) => {
      return sessionId === otherId || sessions.known(sessionId).project === sessions.known(otherId).project;
    },
    counterparts: (messageId, sessionId) => origins.counterparts({ messageId, sessionId }),
    clusterOf: (sessionId, stepId) => {
      const root = unions.entered({ sessionId, stepId })?.clusterRoot;
      return root === undefined ? null : formatHandle("cluster", root, unions.lastPosition(sessionId));
    },
  };
}

function lookUp(fullText: FullTextRepository, query: Query, scope: SearchScope): Lookup {
  const index = scopedIndex(fullText, query, scope) ?? wholeIndex(fullText);
  const indexed = rarest(query.words, index.countOf);
  const tail = scanTail(fullText, indexed, index.among);
  const terms = indexed.map((term, at): TailTerm => {
    const tailIds = tail.idsOf[at]!;
    return { ...term, messageCount: term.messageCount + tailIds.length, tailIds };
  });
  const inTail = new Map<string, number>();
  return {
    terms,
    stemsFrom: (beginning) => {
      countStemsOfTail(fullText, beginning, index.among, inTail);
      return [...new Set([...fullText.stemsFrom(beginning, STEMS_MAX), ...inTail.keys()])];
    },
    countOf: (stem) => index.countOf(stem) + (inTail.get(stem) ?? 0),
    found: (limit) => found(fullText, { index, terms, tail }, query, scope, limit),
  };
}

/** The index, as far as it has messages of a scope's sessions. */
interface ScopedIndex {
  /** Only these messages are in it; undefined if all are. */
  among: { has(messageId: number): boolean } | undefined;
  /** The number of messages in the sessions, with those of the tail. */
  messageCount(tail: Tail): number;
  /** The mean number of words of a message. */
  lengthMean(tail: Tail): { indexed: number; unindexed: number };
  countOf(stem: string): number;
  /** Returns the words that are searched. */
  affordable(terms: readonly TailTerm[], query: Query): TailTerm[];
  /** Returns the messages with a stem, and how often they have it. @param holding  Only these are wanted. */
  occurrences(stem: string, holding: ReadonlySet<number> | undefined): Occurrences;
}

interface Occurrences {
  messageIds: number[];
  counts: number[];
  /** Counts also the messages that are not wanted. */
  messageCount: number;
}

function wholeIndex(fullText: FullTextRepository): ScopedIndex {
  const { messageCount, wordCount } = fullText.totals();
  return {
    among: undefined,
    messageCount: (tail) => messageCount + tail.messageCount,
    lengthMean: (tail) => ({
      indexed: wordCount / messageCount,
      unindexed: (wordCount + tail.wordCount) / Math.max(1, messageCount + tail.messageCount),
    }),
    countOf: (stem) => fullText.frequencyOf(stem),
    affordable: (terms, { phrases }) => affordable(terms, phrases.length > 0 ? POSTINGS_MAX_AMONG : POSTINGS_MAX),
    occurrences: (stem, holding) => occurrencesOf(fullText, stem, holding),
  };
}

/** Returns undefined if all sessions are searched. */
function scopedIndex(fullText: FullTextRepository, query: Query, scope: SearchScope): ScopedIndex | undefined {
  const ids = fullText.idsOf(scope);
  const sessions = ids === undefined ? fullText.messagesOf(scope) : undefined;
  if (ids === undefined && sessions === undefined) return undefined;
  fullText.messageCount(); // drops frequencies that are too old
  const among = sessions ?? new Set(ids);
  const asked = new Set(query.words.map(({ stem }) => stem));
  const stored = query.words.map((word) => ({ ...word, messageCount: fullText.frequencyOf(word.stem) }));
  const all = affordable(stored, Number.POSITIVE_INFINITY);
  const isShort = ids !== undefined || query.phrases.length > 0;
  const inTime = affordable(stored, isShort ? POSTINGS_MAX_AMONG : POSTINGS_MAX);
  const isReadWhole = inTime.length < all.length && ids !== undefined && ids.length <= READ_MAX;
  const common = new Set(isReadWhole ? [] : all.filter((term) => !inTime.includes(term)).map(({ stem }) => stem));
  const known = isReadWhole ? occurrencesByReading(fullText, all, ids) : new Map<string, Occurrences>();
  const occurrences = (stem: string): Occurrences => {
    let found = known.get(stem);
    if (found === undefined) {
      found = occurrencesOf(fullText, stem, among);
      found.messageCount = found.messageIds.length;
      known.set(stem, found);
    }
    return found;
  };
  const { messageCount, wordCount } = fullText.wordsOf(scope);
  return {
    among,
    messageCount: () => ids?.length ?? sessions!.span,
    lengthMean: (tail) => {
      const words = messageCount === 0 || ids !== undefined ? tail : { messageCount: 0, wordCount: 0 };
      const mean = (wordCount + words.wordCount) / Math.max(1, messageCount + words.messageCount);
      return { indexed: mean, unindexed: mean };
    },
    countOf: (stem) => {
      const count = fullText.frequencyOf(stem);
      const isTooCommon = common.has(stem) || (count > POSTINGS_MAX_AMONG && !asked.has(stem));
      return count === 0 || isTooCommon ? count : occurrences(stem).messageCount;
    },
    affordable: (terms) => affordable(terms, Number.POSITIVE_INFINITY).filter(({ stem }) => !common.has(stem)),
    occurrences: (stem, holding) => (holding === undefined ? occurrences(stem) : heldOf(occurrences(stem), holding)),
  };
}

function found(
  fullText: FullTextRepository,
  { index, terms: known, tail }: { index: ScopedIndex; terms: readonly TailTerm[]; tail: Tail },
  query: Query,
  scope: SearchScope,
  limit: number,
): Found {
  const messageCount = index.messageCount(tail);
  const terms = index.affordable(known, query);
  const unindexed = countTail(fullText, terms, query.phrases, scope, {
    idfOfTerm: (term) => idfOf(term.messageCount, messageCount),
    limit,
  });
  const holding = query.phrases.length > 0 ? new Set(holders(fullText, query, terms, scope)) : undefined;
  // Messages of the tail are newer than all indexed messages, so the joined lists are in order.
  const means = index.lengthMean(tail);
  const wanted = unindexed.filter(({ isWanted }) => isWanted);
  wanted.sort((left, right) => left.messageId - right.messageId);
  const tailCounts = tailCountsOf(terms, unindexed);
  return {
    messageCount,
    terms: terms.map((term, at) => {
      const older = isIndexed(term) ? index.occurrences(term.stem, holding) : NONE;
      const newer = postingsIn(wanted, at, means.unindexed);
      return {
        term,
        holderCount: older.messageCount + tailCounts[at]!,
        postings: joined(postingsOf(fullText, older, means.indexed), newer),
      };
    }),
  };
}

const NONE: Occurrences = { messageIds: [], counts: [], messageCount: 0 };

function isIndexed({ messageCount, tailIds }: TailTerm): boolean {
  return messageCount > tailIds.length;
}

/**
 * Reads the occurrences of a stem from the index. SQLite's `bm25` gives equal scores in five times the time.
 *
 * @param among  Only these messages are returned; all are counted.
 */
function occurrencesOf(
  fullText: FullTextRepository,
  stem: string,
  among: { has(messageId: number): boolean } | undefined,
): Occurrences {
  const messageIds: number[] = [];
  const counts: number[] = [];
  let messageCount = 0;
  let last = -1;
  let isAmong = false;
  for (const id of fullText.occurrences(stem)) {
    if (id !== last) {
      last = id;
      messageCount += 1;
      isAmong = among === undefined || among.has(id);
      if (isAmong) {
        messageIds.push(id);
        counts.push(1);
      }
    } else if (isAmong) counts[counts.length - 1]! += 1;
  }
  return { messageIds, counts, messageCount };
}

function postingsOf(fullText: FullTextRepository, { messageIds, counts }: Occurrences, lengthMean: number): Postings {
  const lengths = fullText.lengthsOf(messageIds);
  return { messageIds, shares: counts.map((count, index) => saturate(count, lengths[index]! / lengthMean)) };
}

/** Counts the words of a small scope in its texts. Reading the index would be slower. */
function occurrencesByReading(
  fullText: FullTextRepository,
  terms: readonly { stem: string }[],
  scoped: readonly number[],
): Map<string, Occurrences> {
  const newestId = fullText.newestId();
  const ids = scoped.filter((id) => id <= newestId).sort((left, right) => left - right);
  const stems = terms.map(({ stem }) => stem);
  const messages = countStems(fullText.texts(ids), stems);
  return new Map(
    stems.map((stem, index) => {
      const holding = messages.filter(({ counts }) => counts[index]! > 0);
      const messageIds = holding.map(({ messageId }) => messageId);
      return [stem, { messageIds, counts: holding.map(({ counts }) => counts[index]!), messageCount: holding.length }];
    }),
  );
}

function heldOf({ messageIds, counts, messageCount }: Occurrences, holding: ReadonlySet<number>): Occurrences {
  const isHeld = messageIds.map((id) => holding.has(id));
  return {
    messageIds: messageIds.filter((_, at) => isHeld[at]),
    counts: counts.filter((_, at) => isHeld[at]),
    messageCount,
  };
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

/** Counts the stems with a beginning in the messages that are not indexed yet. */
function countStemsOfTail(
  fullText: FullTextRepository,
  beginning: string,
  among: { has(messageId: number): boolean } | undefined,
  counts: Map<string, number>,
): void {
  const inTail = new RegExp(`(?<![\\p{L}\\p{N}])${beginning}\\p{L}+`, "gu");
  for (const [id, text] of fullText.eachOfTail()) {
    if (among?.has(id) === false) continue;
    const found = new Set(searchable(text).match(inTail)?.map(searchStem));
    for (const stem of found) counts.set(stem, (counts.get(stem) ?? 0) + 1);
  }
}
