import type { FullTextRepository, IndexTotals } from "../store/full-text.ts";
import type { Repositories } from "../store/repositories.ts";
import { type SearchScope, withinSessions } from "../store/search-scope.ts";
import { chunksOf } from "./chunks.ts";
import { bestHits, type TextHit } from "./hits.ts";
import { holdsPhrases } from "./phrase.ts";
import { countStems, type Postings, postingsIn, postingsOf, shareOf } from "./postings.ts";
import type { Query } from "./query.ts";
import { affordable, idfOf, POSTINGS_MAX, POSTINGS_MAX_AMONG, type QueryTerm, rarest } from "./query-terms.ts";
import { scanTail, type Tail, tailCountsOf, takeTailApart } from "./tail.ts";

/** Messages whose text is compared with the phrases of one query, the newest first: 5 µs each. */
const COMPARED_MAX = 20_000;

/** Messages of a scope that are taken apart where the words asked for are too common elsewhere, at 50 to 100 µs each. */
const READ_MAX = 300;

/** What a search found, and the words it looked for. */
export interface Found {
  /** In the order of each hit's `scores`, with what it tells that a message holds it. */
  terms: { stem: string; weight: number }[];
  hits: TextHit[];
}

/**
 * The messages that have most to do with a query, by their words alone, the best first and of equals the newest. Indexed or
 * not makes no difference; nothing is written.
 *
 * The score is BM25 over name and text: for each word of the query that a message holds
 * `sqrt(q) · idf · n · (k1 + 1) / (n + k1 · (1 - b + b · length / mean length))`, where q is how often the query has the word and
 * n how often the message does; k1 = 1.2, b = 0.75, idf = ln(1 + (N - df + 0.5) / (df + 0.5)). What counts as rare is told by
 * the messages that are searched: N and df are those of the project or the sessions asked for, or where these have very many
 * messages, of all, indexed or not. Lengths of indexed messages are compared with the mean of the index, those of others with
 * the mean of all.
 *
 * Words too common to be read in time are left out: see query-terms.ts. A message without any of the others is not found;
 * where no more than 300 messages are searched, none is left out. Phrases are looked for as whole words: see phrase.ts. One
 * of stop words alone is only seen beside words that tell.
 *
 * @param limit  Most messages, from 1.
 * @throws {StoreError} `STORE_CORRUPT` where the index is damaged: `verify({ rebuild: true })` brings it back.
 */
export function searchFullText(repositories: Repositories, query: Query, scope: SearchScope, limit: number): Found {
  const { database, fullText } = repositories;
  if (query.words.length === 0) return { terms: [], hits: [] };
  return database.read(() => {
    const totals = fullText.totals();
    const known = rarest(query.words, (stem) => fullText.frequencyOf(stem));
    const tail = scanTail(fullText, known);
    const hasPhrases = query.phrases.length > 0;
    const scoped = fullText.idsOf(scope);
    const holdingAny = affordable(known, Number.POSITIVE_INFINITY);
    const inTime = affordable(known, hasPhrases || scoped !== undefined ? POSTINGS_MAX_AMONG : POSTINGS_MAX);
    const isReadWhole = inTime.length < holdingAny.length && scoped !== undefined && scoped.length <= READ_MAX;
    const terms = isReadWhole ? holdingAny : inTime;
    const messageCount = totals.messageCount + tail.messageCount;
    const unindexed = takeTailApart(fullText, terms, query.phrases, scope, {
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
    const weights = terms.map(({ count }, index) => {
      const { messageIds, indexedCount } = postings[index]!;
      const indexed = scoped === undefined ? indexedCount : messageIds.length;
      return Math.sqrt(count) * idfOf(indexed + tailCounts[index]!, scoped?.length ?? messageCount);
    });

    const wordCountMean = wordCountMeanOf(totals, tail);
    const wanted = unindexed.filter(({ isWanted }) => isWanted);
    // Newer than all that are indexed, they come after them.
    wanted.sort((left, right) => left.messageId - right.messageId);
    const all = postings.map((indexed, index): Postings => {
      const those = holding === undefined ? indexed : heldOf(indexed, holding);
      const newer = wanted.filter(({ counts }) => counts[index]! > 0);
      const shares = newer.map(({ counts, wordCount }) => shareOf(counts[index]!, wordCount / wordCountMean));
      if (newer.length === 0) return those;
      return {
        messageIds: [...those.messageIds, ...newer.map(({ messageId }) => messageId)],
        shares: [...those.shares, ...shares],
      };
    });
    return {
      terms: terms.map(({ stem }, index) => ({ stem, weight: weights[index]! })),
      hits: bestInScope(repositories, bestHits(all, weights, 2 * limit), scope, limit),
    };
  });
}

/** What else is asked of a hit than its session is looked up from the best on, until there are enough. */
function bestInScope(
  { fullText }: Repositories,
  hits: Iterable<TextHit>,
  scope: SearchScope,
  limit: number,
): TextHit[] {
  const best: TextHit[] = [];
  for (const chunk of chunksOf(hits, 2 * limit)) {
    const ids = chunk.map(({ messageId }) => messageId);
    const inScope = new Set(fullText.inScope(ids, withinSessions(scope)));
    for (const hit of chunk) if (inScope.has(hit.messageId)) best.push(hit);
    if (best.length >= limit) break;
  }
  return best.slice(0, limit);
}

/** What the index says of the messages of a scope, as they say themselves: the others need not be passed over. */
function postingsByReading(
  fullText: FullTextRepository,
  terms: readonly QueryTerm[],
  scoped: readonly number[],
  { wordCount, messageCount }: IndexTotals,
): (Postings & { indexedCount: number })[] {
  const newestId = fullText.newestId();
  const ids = scoped.filter((id) => id <= newestId).sort((left, right) => left - right);
  const stems = terms.map(({ stem }) => stem);
  const messages = countStems(fullText.texts(ids), stems);
  return terms.map(({ indexedCount }, index) => ({
    ...postingsIn(messages, index, wordCount / messageCount),
    indexedCount,
  }));
}

function heldOf({ messageIds, shares }: Postings, holding: ReadonlySet<number>): Postings {
  const isHeld = messageIds.map((id) => holding.has(id));
  return { messageIds: messageIds.filter((_, at) => isHeld[at]), shares: shares.filter((_, at) => isHeld[at]) };
}

/** Indexed messages that hold every phrase, found by the words of the phrases, or where these have none by any word. */
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

function wordCountMeanOf(totals: IndexTotals, tail: Tail): number {
  return (totals.wordCount + tail.wordCount) / Math.max(1, totals.messageCount + tail.messageCount);
}
