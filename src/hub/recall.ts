import * as z from "zod/mini";
import { systemClock } from "../core/clock.ts";
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
import { HubSource, type MessageKey, type Missing } from "./hub-source.ts";
import { HubVectors } from "./hub-vectors.ts";
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

export type HubSessionName = Pick<HubHit, "sessionId" | "store">;

/** Where searches read. */
export interface HubIndex {
  /** All that `search` reads is of one moment. It may run again. */
  reading<T>(search: (reader: HubReader) => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Fetches what a search lacks. */
export interface HubReader {
  /** Returns the segments of a project, or of all. @param damaged  Gets the numbers of those that cannot be read. */
  segments(project: string | undefined, damaged: Set<number>): Promise<LoadedSegment[]>;
  /**
   * Returns messages of the clusters of a project that are nearest to a vector, and the vectors of the messages. Clusters of other
   * embedders are left out.
   */
  near(
    project: string | undefined,
    vector: QueryVector,
  ): Promise<(Pick<MessageKey, "sessionNo" | "messageId"> & { vector: Float32Array })[]>;
  /** Puts what is missing into the source. Returns the names of the messages' sessions by their numbers. */
  fetch(
    missing: Missing,
    source: HubSource,
    vector: QueryVector | undefined,
  ): Promise<Iterable<readonly [sessionNo: number, HubSessionName]>>;
}

/**
 * Finds the messages that answer a query, as `recall` of a store that has the same messages would: in the same order and with the
 * same scores.
 *
 * @param damaged  The numbers of segments that are left out. It gets those that cannot be read.
 * @throws {StoreError} `QUERY_EMPTY`, `OPTION_INVALID`, and what the reader throws.
 * @throws {SegmentDamaged} if that is found later. The caller begins again without the segment.
 */
export async function recallOnHub(
  index: HubIndex,
  text: string,
  options: HubRecallOptions = {},
  damaged = new Set<number>(),
): Promise<HubHit[]> {
  const { store, ...others } = options;
  const { signal, near, vectorMsMax, ...parsed } = parsedOptions(others);
  const query = { ...parseQuery(text), ...(near && { near }) };
  signal?.throwIfAborted();
  const meaning = store && (await internalsOf(store).meaningOf(text, vectorMsMax, signal));
  return index.reading((reader) => searchOnHub(reader, query, parsed, { meaning, damaged, signal }), signal);
}

interface SearchTerms {
  /** The vector of the query if messages are also compared by their meaning. */
  meaning: QueryVector | undefined;
  damaged: Set<number>;
  signal: AbortSignal | undefined;
}

async function searchOnHub(
  reader: HubReader,
  query: Query,
  parsed: Omit<ReturnType<typeof parsedOptions>, "signal" | "near" | "vectorMsMax">,
  { meaning, damaged, signal }: SearchTerms,
): Promise<HubHit[]> {
  const segments = await reader.segments(parsed.project, damaged);
  const members = meaning === undefined ? [] : await reader.near(parsed.project, meaning);
  const sound = segments.filter(({ number }) => !damaged.has(number));
  const source = new HubSource(sound, hashingEmbedder);
  const nearIds: number[] = [];
  for (const { sessionNo, messageId, vector } of members) {
    const id = source.idOf(sessionNo, messageId);
    if (id === undefined) continue;
    nearIds.push(id);
    source.addVector(id, vector);
  }
  const isByMeaning = nearIds.length > 0;
  const vector = isByMeaning ? meaning : lexicalVector(query.text);
  const names = new Map<number, HubSessionName>();
  const fetch = async (missing: Missing): Promise<void> => {
    signal?.throwIfAborted();
    for (const [sessionNo, name] of await reader.fetch(missing, source, vector)) names.set(sessionNo, name);
  };
  const ports = { source, clock: systemClock, ...(isByMeaning && { messageVectors: new HubVectors(source, nearIds) }) };
  const ranking = await source.answer(
    () => search(ports, query, vector, parsed as SearchScope, { limit: rankedCount(query, parsed), by: parsed.by }),
    fetch,
  );
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
      ...(damaged.size > 0 && { partsMissing: true }),
      neighbors: hit.neighbors.map(named),
      copies: hit.copies.map((copy) => ({ ...named(copy), ...names.get(Number(copy.sessionId)) })),
    };
  });
}

function parsedOptions(options: Omit<HubRecallOptions, "store">) {
  return parseOptions("hub.recall", hubRecallSchema(), options);
}

function lexicalVector(text: string): QueryVector | undefined {
  const { id: embedderId, dimension } = hashingEmbedder;
  const embedding = hashingEmbedder.embed(text);
  return embedding && { embedderId, embedding: unitVector("the query's embedding", embedding, dimension) };
}
