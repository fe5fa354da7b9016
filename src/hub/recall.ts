import * as z from "zod/mini";
import { systemClock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { once } from "../core/once.ts";
import { parseOptions } from "../core/schema.ts";
import { estimatingTokenCounter } from "../core/tokens.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { hitsOf } from "../recall/answer.ts";
import type { RecallHit } from "../recall/hits.ts";
import { parseQuery, type Query } from "../recall/query.ts";
import { type QueryVector, unitVector } from "../recall/query-vector.ts";
import { type RecallOptions, rankedCount, recallSchema } from "../recall/recall.ts";
import { search } from "../recall/search.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { Store } from "../session/store.ts";
import type { SearchScope } from "../store/index.ts";
import type { HubConnection } from "./connection.ts";
import { HubSource, SegmentDamaged } from "./hub-source.ts";
import { HubVectors } from "./hub-vectors.ts";
import { type NearMember, nearMembers } from "./near.ts";
import type { KeptSegments } from "./word-index.ts";

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
  vectorMsMax: true,
  signal: true,
} as const;

/** The messages to search on the hub, and the hits to return. Without a project, all projects of your teams are searched. */
export interface HubRecallOptions extends Pick<RecallOptions, keyof typeof ASKED> {
  /**
   * A store whose embedder makes the vector of the query. If the embedder is not lexical, and sessions of the hub have vectors of the
   * same embedder, messages are also compared by meaning.
   */
  store?: Store;
}

/** A message of the hub that answers a query. Messages of the hub are in no cluster, so `root` is null. */
export interface HubHit extends RecallHit {
  /** The id of the store in which its session began. `sessionId` is the session's id there. */
  store: string;
  /** The number of its session on the hub. */
  hubSession: number;
  /** True if parts of the hub's word index are damaged, so that messages may be missing. `keep` makes them again. */
  partsMissing?: true;
}

const hubRecallSchema = once(() => z.pick(recallSchema(), ASKED));

/**
 * Finds the messages that answer a query, as `recall` of a store that has the same messages would: in the same order and with the
 * same scores.
 *
 * @throws {StoreError} `QUERY_EMPTY`, `OPTION_INVALID`, `HUB_REFUSED`, and what a transaction throws.
 */
export async function recallOnHub(
  hub: HubConnection,
  kept: KeptSegments,
  text: string,
  options: HubRecallOptions = {},
): Promise<HubHit[]> {
  const { store, ...others } = options;
  const { signal, near, vectorMsMax, ...parsed } = parseOptions("hub.recall", hubRecallSchema(), others);
  const query = { ...parseQuery(text), ...(near && { near }) };
  signal?.throwIfAborted();
  const meaning = store && (await internalsOf(store).meaningOf(text, vectorMsMax, signal));
  const damaged = new Set<number>();
  for (;;) {
    try {
      const hits = await hub.transaction(
        async (client) => {
          const segments = await kept.of(client, parsed.project, damaged);
          const source = new HubSource({ client, name: hub.name }, segments, meaning);
          const members = meaning === undefined ? [] : await nearMembers(client, parsed.project, meaning);
          return hitsIn(source, query, parsed, { meaning, members, signal });
        },
        signal,
        "REPEATABLE READ", // all of it is of one moment
      );
      if (damaged.size === 0) return hits;
      if (hits.length > 0) return hits.map((hit) => ({ ...hit, partsMissing: true }));
      const reason = "parts of its word index are damaged, and `coppice hub keep` makes them again";
      throw new StoreError("HUB_REFUSED", { hub: hub.name, reason });
    } catch (error) {
      if (!(error instanceof SegmentDamaged)) throw error;
      damaged.add(error.segment);
    }
  }
}

interface SearchTerms {
  /** The vector of the query if messages are also compared by their meaning. */
  meaning: QueryVector | undefined;
  /** Messages of the nearest clusters. */
  members: readonly NearMember[];
  signal: AbortSignal | undefined;
}

async function hitsIn(
  source: HubSource,
  query: Query,
  parsed: Omit<z.infer<ReturnType<typeof hubRecallSchema>>, "signal" | "near" | "vectorMsMax">,
  { meaning, members, signal }: SearchTerms,
): Promise<HubHit[]> {
  const nearIds: number[] = [];
  for (const { sessionNo, messageId, vector } of members) {
    const id = source.idOf(sessionNo, messageId);
    if (id === undefined) continue;
    nearIds.push(id);
    source.addVector(id, vector);
  }
  const isByMeaning = nearIds.length > 0;
  const vector = isByMeaning ? meaning : lexicalVector(query.text);
  const ports = { source, clock: systemClock, ...(isByMeaning && { messageVectors: new HubVectors(source, nearIds) }) };
  const ranking = await source.answer(
    () => search(ports, query, vector, parsed as SearchScope, { limit: rankedCount(query, parsed), by: parsed.by }),
    signal,
  );
  const wanted = { ...parsed, tokenCounter: estimatingTokenCounter };
  const hits = await source.answer(() => hitsOf(source, query, ranking, wanted), signal);
  return hits.map((hit): HubHit => {
    const { messageId, ...name } = source.nameOf(hit.messageId);
    return {
      ...hit,
      ...name,
      messageId,
      hubSession: Number(hit.sessionId),
      neighbors: hit.neighbors.map((one) => ({ ...one, messageId: source.keyOf(one.messageId).messageId })),
      copies: hit.copies.map((copy) => ({ ...copy, ...source.nameOf(copy.messageId) })),
    };
  });
}

function lexicalVector(text: string): QueryVector | undefined {
  const { id: embedderId, dimension } = hashingEmbedder;
  const embedding = hashingEmbedder.embed(text);
  return embedding && { embedderId, embedding: unitVector("the query's embedding", embedding, dimension) };
}
