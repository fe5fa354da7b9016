import * as z from "zod/mini";
import { systemClock } from "../core/clock.ts";
import { once } from "../core/once.ts";
import { parseOptions } from "../core/schema.ts";
import { estimatingTokenCounter } from "../core/tokens.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { hitsOf } from "../recall/answer.ts";
import type { RecallHit } from "../recall/hits.ts";
import { parseQuery } from "../recall/query.ts";
import { unitVector } from "../recall/query-vector.ts";
import { type RecallOptions, recallSchema } from "../recall/recall.ts";
import { search } from "../recall/search.ts";
import type { SearchScope } from "../store/search-scope.ts";
import { HubSource, type Missing } from "./hub-source.ts";
import type { LoadedSegment } from "./loaded-segment.ts";

const ASKED = {
  project: true,
  limit: true,
  neighbors: true,
  tokensMax: true,
  near: true,
  by: true,
  explain: true,
  roles: true,
  sinceMs: true,
  untilMs: true,
  signal: true,
} as const;

/** The messages to search on the hub, and the hits to return. Without a project, all projects of your teams are searched. */
export type HubRecallOptions = Pick<RecallOptions, keyof typeof ASKED>;

/** A message of the hub that answers a query. Messages of the hub are in no cluster, so `root` is null. */
export interface HubHit extends RecallHit {
  /** The id of the store in which its session began. `sessionId` is the session's id there. */
  store: string;
  /** The number of its session on the hub. */
  hubSession: number;
}

const hubRecallSchema = once(() => z.pick(recallSchema(), ASKED));

export type HubSessionName = Pick<HubHit, "sessionId" | "store">;

/** Where a search gets what it lacks. */
export interface HubReader {
  /** Returns the segments of a project, or of all. */
  segments(project: string | undefined): Promise<LoadedSegment[]>;
  /** Puts what is missing into the source. Returns the names of the messages' sessions by their numbers. */
  fetch(missing: Missing, source: HubSource): Promise<Iterable<readonly [sessionNo: number, HubSessionName]>>;
}

/**
 * Finds the messages that answer a query, as `recall` of a store that has the same messages would: in the same order and with the
 * same scores.
 *
 * @throws {StoreError} `QUERY_EMPTY`, `OPTION_INVALID`, and what the reader throws.
 */
export async function recallOnHub(reader: HubReader, text: string, options: HubRecallOptions = {}): Promise<HubHit[]> {
  const { signal, near, ...parsed } = parseOptions("hub.recall", hubRecallSchema(), options);
  const query = { ...parseQuery(text), ...(near && { near }) };
  signal?.throwIfAborted();
  const source = new HubSource(await reader.segments(parsed.project), hashingEmbedder);
  const names = new Map<number, HubSessionName>();
  const fetch = async (missing: Missing): Promise<void> => {
    signal?.throwIfAborted();
    for (const [sessionNo, name] of await reader.fetch(missing, source)) names.set(sessionNo, name);
  };
  const { id: embedderId, dimension } = hashingEmbedder;
  const embedding = hashingEmbedder.embed(text);
  const vector = embedding && { embedderId, embedding: unitVector("the query's embedding", embedding, dimension) };
  const ports = { source, clock: systemClock };
  const { limit } = parsed;
  const ranking = await source.answer(() => search(ports, query, vector, parsed as SearchScope, limit), fetch);
  const wanted = { ...parsed, tokenCounter: estimatingTokenCounter };
  const hits = await source.answer(() => hitsOf(source, query, ranking, wanted), fetch);
  return hits.map((hit): HubHit => {
    const named = <Message extends { messageId: number }>(message: Message): Message => {
      return { ...message, messageId: source.keyOf(message.messageId).messageId };
    };
    return {
      ...named(hit),
      ...names.get(Number(hit.sessionId))!,
      hubSession: Number(hit.sessionId),
      neighbors: hit.neighbors.map(named),
      copies: hit.copies.map((copy) => ({ ...named(copy), ...names.get(Number(copy.sessionId)) })),
    };
  });
}
