import * as z from "zod/mini";
import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../core/limits.ts";
import { PART_TYPES, ROLES } from "../core/message-words.ts";
import type { TimeRange } from "../core/named-times.ts";
import { once } from "../core/once.ts";
import { RECALL_LIMIT_DEFAULT, RECALL_NEIGHBORS_DEFAULT } from "../core/options.ts";
import {
  abortSignal,
  callback,
  type FieldsOf,
  listOf,
  oneWordOf,
  parseOptions,
  text as textOption,
  trueOrFalse,
  unixMs,
  whole,
} from "../core/schema.ts";
import { isRemote } from "../models/embedder.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import type { SearchScope } from "../store/search-scope.ts";
import { type Folded, foldCopies } from "./copies.ts";
import { type Correction, HitReader, type RecallHit } from "./hits.ts";
import { parseQuery } from "./query.ts";
import { QUERY_VECTOR_MS_DEFAULT, remoteQueryVector } from "./query-vector.ts";
import type { Placed } from "./ranking.ts";
import { byRerank, RERANKED_MAX, type Rerank, rerankScores } from "./rerank.ts";
import { type Ranking, type RecallPorts, type RecallQuery, search, textAndEmbedding } from "./search.ts";
import type { RankedSession } from "./sessions.ts";
import { alternating, rankSuperseded } from "./superseded.ts";

/** The most tokens of a message that a context shows whole. Longer messages are shown as snippets. */
const SHOWN_TOKENS_MAX = 120;

/** To find sessions near a time, this many messages are ranked: the session may share only common words with the query. */
const NEAR_SESSIONS_RANKED = 3_000;

/** The messages to search, and the hits to return. */
export interface RecallOptions extends SearchScope {
  /** Most hits: 1 to 1,000, by default 10. */
  limit?: number;
  /** Most tokens of all hits and neighbors together. A hit that does not fit is left out. */
  tokensMax?: number;
  /** Messages to return before and after each hit: 0 to 10, by default 1. */
  neighbors?: number;
  /** A time in Unix milliseconds. Messages near it count more. Times in the query, such as "last week", have the same effect. */
  near?: TimeRange;
  /** `session` ranks sessions. Each hit is then the best message of another session. By default `message`. */
  by?: "message" | "session";
  /** True to find superseded messages, too. They are ranked by their words, and every other hit is one of them. */
  superseded?: boolean;
  /** True to return the parts of each score. */
  explain?: boolean;
  /** Milliseconds to wait for a remote embedder's vector: 0 to 60,000, by default 2,000. Without it, only words count. */
  vectorMsMax?: number;
  /** A function, such as a cross-encoder, that reads the first 50 messages and orders them anew. It is called once. */
  rerank?: Rerank;
  signal?: AbortSignal;
}

const recallSchema = once(() =>
  z.strictObject({
    limit: z._default(whole(1, RECALL_LIMIT_MAX), RECALL_LIMIT_DEFAULT),
    tokensMax: z.optional(whole(1)),
    neighbors: z._default(whole(0, RECALL_NEIGHBORS_MAX), RECALL_NEIGHBORS_DEFAULT),
    near: z.optional(
      z
        .strictObject({ fromMs: unixMs(), toMs: unixMs() })
        .check(z.refine(({ fromMs, toMs }) => fromMs <= toMs, { error: "a time that ends after it begins" })),
    ),
    by: z._default(oneWordOf(["message", "session"]), "message"),
    superseded: z._default(trueOrFalse(), false),
    explain: z._default(trueOrFalse(), false),
    vectorMsMax: z._default(whole(0, 60_000), QUERY_VECTOR_MS_DEFAULT),
    rerank: z.optional(callback<Rerank>()),
    signal: z.optional(abortSignal()),
    project: z.optional(textOption()),
    sessionIds: z.optional(listOf(textOption())),
    roles: z.optional(listOf(oneWordOf(ROLES))),
    partTypes: z.optional(listOf(oneWordOf(PART_TYPES))),
    sinceMs: z.optional(unixMs()),
    untilMs: z.optional(unixMs()),
  } satisfies FieldsOf<RecallOptions>),
);

/**
 * Finds the messages that answer a query, in any session, best first. Writes nothing. Any text is a query. A phrase in double
 * quotes must be in a hit letter by letter, unless the query has other words and ends with a question mark. If no message has
 * it, and the query has other words, its words are searched, and each hit has `phrasesMissing`.
 *
 * Messages are also compared by their vectors, except if the store was made with another embedder, or if a remote embedder
 * does not answer in time.
 *
 * @throws the error of `rerank`; {StoreError} `MODEL_ANSWER_INVALID` if `rerank` does not return a number for each text;
 *   `QUERY_EMPTY`; `OPTION_INVALID`; `VECTOR_INVALID` if the store's embedder cannot have made the
 *   embedding; `STORE_CORRUPT` if the full-text index is damaged.
 */
export async function recall(
  ports: RecallPorts,
  asked: RecallQuery,
  options: RecallOptions & { signal: AbortSignal },
): Promise<RecallHit[]> {
  const parsed = parseOptions("recall", recallSchema(), options);
  const {
    limit,
    tokensMax,
    neighbors,
    near,
    by,
    superseded,
    explain,
    vectorMsMax,
    rerank,
    signal: _,
    ...scope
  } = parsed;
  const { text, embedding: given } = textAndEmbedding(asked);
  const query = { ...parseQuery(text), ...(near && { near }) };
  ports.repositories.database.assertOpen();
  const isAsked = given === undefined && isRemote(ports.embedder);
  const embedding = isAsked ? await remoteQueryVector(ports, text, vectorMsMax, options.signal) : given;
  const rankedCount = by === "session" && near !== undefined ? Math.max(limit, NEAR_SESSIONS_RANKED) : limit;
  const find = () => search(ports, query, embedding, scope as SearchScope, rankedCount);
  const scores = rerank && (await rerankScores(rerank, text, firstTexts(ports, find), options.signal));
  return ports.repositories.database.read(() => {
    const { ranking: found, sessions, weights, phrasesMissing, corrections } = find();
    const placed = scores === undefined ? found : byRerank(found, scores);
    const onPath = by === "session" ? bestOfSessions(placed, scores === undefined ? sessions() : undefined) : placed;
    const both = superseded
      ? alternating(onPath, rankSuperseded(ports.repositories, query, scope as SearchScope))
      : onPath;
    const ranking = superseded && by === "session" ? bestOfSessions(both, undefined) : both;
    // Words that only superseded messages have are in no index, and have no weight.
    const marked = superseded ? new Map([...query.words.map(({ stem }) => [stem, 1] as const), ...weights]) : weights;
    const reader = new HitReader(ports.repositories, marked, neighbors);
    let tokensLeft = tokensMax ?? Number.POSITIVE_INFINITY;
    const isAffordable = ({ candidate }: Placed): boolean => {
      if (tokensMax === undefined) return true;
      const cost = reader.tokensOf(candidate, ports.tokenCounter, tokensLeft);
      if (cost > tokensLeft) return false;
      tokensLeft -= cost;
      return true;
    };
    const loaded = reader.loaded(ranking, limit);
    const folded =
      by === "session"
        ? firstOf(loaded, limit, isAffordable)
        : foldCopies(loaded, limit, (id) => reader.textOf(id), isAffordable);
    const hits = folded.map((hit) => reader.hitOf(hit, explain));
    const meant = correctionsIn(hits, corrections);
    const facts = { ...(phrasesMissing && { phrasesMissing }), ...(meant.length > 0 && { corrections: meant }) };
    return hits.map((hit) => ({ ...hit, ...facts }));
  });
}

/** Returns the corrections. Each names the word with the corrected stem as a hit has it. */
function correctionsIn(hits: readonly RecallHit[], corrections: Ranking["corrections"]): Correction[] {
  return corrections.flatMap(({ typed, stem }) => {
    for (const { text } of hits) {
      const meant = searchWords(text).find((word) => searchStem(word) === stem);
      if (meant !== undefined) return [{ typed, meant }];
    }
    return [];
  });
}

/** Returns the texts that a reranker reads, by message id. */
function firstTexts({ repositories: { database, evidence } }: RecallPorts, find: () => Ranking): Map<number, string> {
  return database.read(() => {
    const ids: number[] = [];
    for (const { candidate } of find().ranking) {
      if (ids.length === RERANKED_MAX) break;
      ids.push(candidate.messageId);
    }
    const texts = evidence.textsOf(ids);
    return new Map(ids.map((id) => [id, texts.get(id)!]));
  });
}

/**
 * Returns the best message of each session, with the score of the session, best session first. Without a ranking of sessions,
 * they are in the order of their best messages.
 */
function bestOfSessions(ranking: Iterable<Placed>, sessions: readonly RankedSession[] | undefined): Placed[] {
  const best = new Map<string, Placed>();
  for (const placed of ranking) {
    const { sessionId } = placed.candidate;
    if (!best.has(sessionId)) best.set(sessionId, placed);
  }
  if (sessions === undefined) return [...best.values()];
  return sessions.map(({ sessionId, score }) => ({ ...best.get(sessionId)!, score }));
}

/** Returns the first wanted messages. Copies are not folded, because each hit stands for another session. */
function firstOf(ranking: Iterable<Placed>, limit: number, isWanted: (placed: Placed) => boolean): Folded[] {
  const first: Folded[] = [];
  for (const ranked of ranking) {
    if (first.length === limit) break;
    if (isWanted(ranked)) first.push({ ranked, copies: [] });
  }
  return first;
}

/**
 * Finds the messages that answer the query of a context, best first. Such a query is often the user's last message. So its
 * quotes are ordinary text, and a message that repeats the query is not an answer.
 *
 * @param context  The messages that the context shows already, and the tokens that it has room for.
 */
export function recallForContext(
  ports: RecallPorts,
  asked: RecallQuery,
  scope: SearchScope,
  limit: number,
  { shownIds, tokensMax }: { shownIds: ReadonlySet<number>; tokensMax: number },
): { messageId: number; worth: number; snippet: () => string }[] {
  const { text, embedding } = textAndEmbedding(asked);
  const query = { ...parseQuery(text), phrases: [] };
  return ports.repositories.database.read(() => {
    const { ranking, weights } = search(ports, query, embedding, scope, limit, shownIds);
    const reader = new HitReader(ports.repositories, weights, 0);
    const wanted = within(ranking, 1.5 * tokensMax);
    const folded = foldCopies(reader.loaded(wanted, limit), limit, (id) => reader.textOf(id));
    return folded.map(({ ranked: { candidate, worth } }) => {
      const { messageId } = candidate;
      return { messageId, worth, snippet: () => reader.snippetOf(messageId) };
    });
  });
}

/** Yields the first messages of a ranking until their tokens exceed `tokensMax`. */
function* within(ranking: Iterable<Placed>, tokensMax: number): Generator<Placed> {
  let tokens = 0;
  for (const ranked of ranking) {
    yield ranked;
    tokens += Math.min(ranked.candidate.tokenCount, SHOWN_TOKENS_MAX);
    if (tokens > tokensMax) return;
  }
}
