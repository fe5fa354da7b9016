import * as z from "zod/mini";
import type { NearestClusters } from "../ann/nearest-clusters.ts";
import type { Clock } from "../core/clock.ts";
import { RECALL_LIMIT_MAX, RECALL_NEIGHBORS_MAX } from "../core/limits.ts";
import { PART_TYPES, ROLES } from "../core/message-words.ts";
import type { TimeRange } from "../core/named-times.ts";
import { once } from "../core/once.ts";
import { RECALL_FILLED_MAX, RECALL_NEIGHBORS_DEFAULT } from "../core/options.ts";
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
import type { TokenCounter } from "../core/tokens.ts";
import { type Embedder, isRemote } from "../models/embedder.ts";
import type { Repositories, SearchScope } from "../store/index.ts";
import { hitsOf } from "./answer.ts";
import { foldCopies } from "./copies.ts";
import { HitReader, type RecallHit } from "./hits.ts";
import type { MessageVectors } from "./message-vectors.ts";
import { parseQuery, type Query } from "./query.ts";
import { QUERY_VECTOR_MS_DEFAULT, queryVector, remoteQueryVector } from "./query-vector.ts";
import type { Placed } from "./ranking.ts";
import { RERANKED_MAX, type Rerank, rerankScores } from "./rerank.ts";
import { type Ranking, type RecallQuery, type SearchPorts, search, textAndEmbedding } from "./search.ts";
import type { Source } from "./source.ts";
import { storeSource } from "./store-source.ts";
import { rankSuperseded } from "./superseded.ts";

/** The most tokens of a message that a context shows whole. Longer messages are shown as snippets. */
const SHOWN_TOKENS_MAX = 120;

/** To find sessions near a time, this many messages are ranked: the session may share only common words with the query. */
const NEAR_SESSIONS_RANKED = 3_000;

export interface RecallPorts {
  repositories: Repositories;
  embedder: Embedder;
  nearest: NearestClusters;
  messageVectors: MessageVectors;
  tokenCounter: TokenCounter;
  clock: Clock;
}

function searchPorts({ embedder, messageVectors, clock }: RecallPorts, source: Source): SearchPorts {
  return { source, clock, messageVectors: embedder.isLexical ? undefined : messageVectors };
}

/** The messages to search, and the hits to return. */
export interface RecallOptions extends Omit<SearchScope, "shared"> {
  /**
   * Most hits: 1 to 1,000, by default 10, or 30 with `tokensMax`. With `by: "session"` always 10 by default. If nothing is near (a
   * `confidence` below 0.1), 3 by default.
   */
  limit?: number;
  /**
   * Most tokens of all hits and neighbors together. Texts are cut to their snippets if not all hits fit otherwise. Without `limit`, there
   * are at most 30 hits (10 with `by: "session"`); after the tenth only those whose odds to answer are at least a hundredth of the best
   * one's, except that reranked and superseded hits need no odds.
   */
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
  /** A function, such as a cross-encoder, that reads the first 50 messages and orders them again. It is called once. */
  rerank?: Rerank;
  signal?: AbortSignal;
}

export const recallSchema = once(() =>
  z.strictObject({
    limit: z.optional(whole(1, RECALL_LIMIT_MAX)),
    tokensMax: z.optional(whole(1)),
    neighbors: z._default(whole(0, RECALL_NEIGHBORS_MAX), RECALL_NEIGHBORS_DEFAULT),
    near: z.optional(
      z
        .strictObject({ fromMs: unixMs(), toMs: unixMs() })
        .check(z.refine(({ fromMs, toMs }) => fromMs <= toMs, { error: "a time that does not end before it begins" })),
    ),
    by: z._default(oneWordOf(["message", "session"]), "message"),
    superseded: z._default(trueOrFalse(), false),
    explain: z._default(trueOrFalse(), false),
    vectorMsMax: z._default(whole(0, 60_000), QUERY_VECTOR_MS_DEFAULT),
    rerank: z.optional(callback<Rerank>()),
    signal: z.optional(abortSignal()),
    project: z.optional(textOption()),
    sessionIds: z.optional(listOf(textOption())),
    mine: z.optional(trueOrFalse()),
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
  const { near, superseded, vectorMsMax, rerank } = parsed;
  const { text, embedding: given } = textAndEmbedding(asked);
  const query = { ...parseQuery(text), ...(near && { near }) };
  const { repositories, tokenCounter } = ports;
  repositories.database.assertOpen();
  const scope = repositories.database.read(() => repositories.evidence.scopeOf(parsed as SearchScope));
  const isAsked = given === undefined && isRemote(ports.embedder);
  const embedding = isAsked ? await remoteQueryVector(ports, text, vectorMsMax, options.signal) : given;
  await repositories.database.turnToRead();
  const source = storeSource(repositories, scope);
  const ranked = { limit: rankedCount(query, parsed), by: parsed.by };
  const find = () => search(searchPorts(ports, source), query, queryVector(ports, text, embedding), scope, ranked);
  const scores = rerank && (await rerankScores(rerank, text, firstTexts(ports, source, find), options.signal));
  return repositories.database.read(() => {
    const ranking = find();
    const others = superseded ? rankSuperseded(repositories, query, parsed as SearchScope) : undefined;
    return hitsOf(source, query, ranking, { ...parsed, tokenCounter, scores, superseded: others });
  });
}

/** Returns how many messages are ranked at least. */
export function rankedCount(
  { near }: Query,
  { by, limit = RECALL_FILLED_MAX }: { by: "message" | "session"; limit?: number | undefined },
): number {
  return by === "session" && near !== undefined ? Math.max(limit, NEAR_SESSIONS_RANKED) : limit;
}

/** Returns the texts that a reranker reads, by message id. */
function firstTexts({ repositories }: RecallPorts, source: Source, find: () => Ranking): Map<number, string> {
  return repositories.database.read(() => {
    const ids: number[] = [];
    for (const { candidate } of find().ranking) {
      if (ids.length === RERANKED_MAX) break;
      ids.push(candidate.messageId);
    }
    const texts = source.textsOf(ids);
    return new Map(ids.map((id) => [id, texts.get(id)!] as const).filter(([, text]) => text.trim() !== ""));
  });
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
  scopeGiven: SearchScope,
  limit: number,
  { shownIds, tokensMax }: { shownIds: ReadonlySet<number>; tokensMax: number },
): { messageId: number; worth: number; snippet: () => string }[] {
  const { text, embedding } = textAndEmbedding(asked);
  const query = { ...parseQuery(text), phrases: [] };
  return ports.repositories.database.read(() => {
    const scope = ports.repositories.evidence.scopeOf(scopeGiven);
    const source = storeSource(ports.repositories, scope);
    const vector = queryVector(ports, text, embedding);
    const { ranking, weights } = search(searchPorts(ports, source), query, vector, scope, { limit }, shownIds);
    const reader = new HitReader(source, weights, 0);
    const first = within(ranking, 1.5 * tokensMax);
    const folded = foldCopies(reader.loaded(first, limit), limit, (id) => reader.textOf(id), source);
    return folded.map(({ ranked: { candidate, worth } }) => {
      const { messageId } = candidate;
      return { messageId, worth, snippet: () => reader.snippetOf(messageId).text };
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
