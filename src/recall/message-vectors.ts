import { isDeepStrictEqual } from "node:util";
import type { CentroidStamp } from "../ann/centroid-source.ts";
import type { NearestClusters } from "../ann/nearest-clusters.ts";
import { idAt, placeCountOf, type Repositories, type SearchScope } from "../store/index.ts";
import { dot } from "../vector/vector.ts";
import { meaningWeight } from "./meaning.ts";
import type { QueryVector } from "./query-vector.ts";
import {
  ALL_MAX,
  mixed,
  type NearMessage,
  nearestInScope,
  PROBED_CLUSTERS,
  SAMPLE_SIZE,
  sampleBy,
  type VectorSource,
} from "./vector-source.ts";

/** This many of the newest messages that are in no cluster yet are compared. */
const WINDOWS_MAX = 10_000;

/** SQL reads a negative limit as no limit. */
const ALL = -1;

/** The memory for vectors that were read, in numbers of 4 bytes: 64 MB. */
const NUMBERS_MAX = 16_000_000;

/** Vectors that are not kept are in memory only while they are compared. */
const COMPARED_AT_ONCE = 2_000;

const WEIGHTS_MAX = 16;

/**
 * Finds the messages of a store whose vectors are nearest to a query's. In a small scope all messages are compared. In a large
 * one, the clusters are the lists of an inverted file: the members of the nearest clusters are compared, and the messages of
 * the windows, which are in no cluster yet.
 *
 * Vectors that were read stay in memory, up to 64 MB, since a message's vector changes only with the generation.
 */
export class MessageVectors implements VectorSource {
  readonly #repositories: Repositories;
  readonly #clusters: NearestClusters;
  /** By message id. Once the memory is full, no vector is added, because each scan would evict what the next one reads. */
  readonly #vectors = new Map<number, Float32Array>();
  /** By the ids of the sampled messages. */
  readonly #weights = new Map<string, number>();
  /** The members of clusters, by root, at a log position. */
  readonly #members = new Map<number, readonly number[]>();
  #membersAt = 0;
  #stamp: unknown;

  constructor(repositories: Repositories, clusters: NearestClusters) {
    this.#repositories = repositories;
    this.#clusters = clusters;
  }

  /** Returns at most 50 messages in scope, nearest first. Call it in a read. */
  nearest(query: QueryVector, scope: SearchScope): NearMessage[] {
    const { fullText } = this.#repositories;
    const few = this.#few(scope);
    const near = this.#compared(few ?? this.#inLargeScope(query, scope), query);
    return nearestInScope(near, (ids) => fullText.inScope(ids, scope));
  }

  /** Returns the cosines of messages with a query, by message id. Messages without a vector are missing. */
  cosines(ids: readonly number[], query: QueryVector): Map<number, number> {
    return new Map(this.#compared(ids, query).map(({ messageId, similarity }) => [messageId, similarity]));
  }

  /** Returns the query's cosines with sampled messages, and how much cosines count (@see meaningWeight). */
  sample(query: QueryVector, scope: SearchScope): { sampled: number[]; weight: number } {
    const { evidence } = this.#repositories;
    const few = this.#few(scope);
    const sampledIds = few === undefined ? this.#sampleOfAll() : sampleBy(few, (id) => id);
    const vectors = this.#read(sampledIds, query.embedderId);
    const sampled = Array.from(vectors.values(), (vector) => dot(vector, query.embedding));
    const key = [...vectors.keys()].join();
    let weight = this.#weights.get(key);
    if (weight === undefined) {
      weight = meaningWeight(evidence, [...vectors.keys()], query.embedderId);
      this.#weights.set(key, weight);
      const [oldest] = this.#weights.keys();
      if (this.#weights.size > WEIGHTS_MAX) this.#weights.delete(oldest!);
    }
    return { sampled, weight };
  }

  /** Returns the ids of the messages in a scope's sessions; undefined if there are many. */
  #few(scope: SearchScope): readonly number[] | undefined {
    const { fullText, evidence } = this.#repositories;
    const isAll = scope.project === undefined && scope.sessionIds === undefined && !scope.mine;
    if (!isAll) return fullText.idsOf(scope);
    const ids = evidence.firstIds(ALL_MAX + 1);
    return ids.length > ALL_MAX ? undefined : ids;
  }

  /** Samples a range of places whose length is a power of two, so that the sample seldom changes. */
  #sampleOfAll(): number[] {
    const { evidence } = this.#repositories;
    const ranges = evidence.idRanges();
    const count = placeCountOf(ranges);
    const length = 2 ** Math.ceil(Math.log2(count));
    const places = Array.from({ length: 2 * SAMPLE_SIZE }, (_, index) => mixed(index + 1) % length);
    const sampled = places.filter((place) => place < count).slice(0, SAMPLE_SIZE);
    return evidence.firstIdsFrom(JSON.stringify(sampled.map((place) => idAt(ranges, place))));
  }

  /** Returns the messages to compare. Messages of other sessions are left out first, so that they take no place. */
  #inLargeScope(query: QueryVector, scope: SearchScope): number[] {
    const { evidence, fullText } = this.#repositories;
    const sessions = fullText.messagesOf(scope);
    const accepts = sessions && ((id: number) => sessions.has(id));
    const clusters = this.#clusters.nearest(query.embedding, { k: PROBED_CLUSTERS, ...(accepts && { accepts }) });
    const members = this.#membersOf(clusters.map(({ root }) => root));
    if (accepts === undefined) return [...evidence.inWindows(WINDOWS_MAX), ...members];
    return [...evidence.inWindows(ALL).filter(accepts).slice(0, WINDOWS_MAX), ...members.filter(accepts)];
  }

  #membersOf(roots: readonly number[]): number[] {
    const { evidence, centroids } = this.#repositories;
    this.#follow();
    const position = centroids.newestPosition();
    if (position !== this.#membersAt) {
      for (const root of centroids.changedSince(this.#membersAt)) this.#members.delete(root);
      this.#membersAt = position;
    }
    const unknown = roots.filter((root) => !this.#members.has(root));
    if (unknown.length > 0) for (const [root, ids] of evidence.members(unknown)) this.#members.set(root, ids);
    return roots.flatMap((root) => this.#members.get(root)!);
  }

  /** Forgets what was read if another generation is in use, or if messages were forgotten. */
  #follow(): CentroidStamp | undefined {
    const stamp = this.#repositories.centroids.stamp();
    if (!isDeepStrictEqual(stamp, this.#stamp)) {
      this.#stamp = stamp;
      this.#vectors.clear();
      this.#members.clear();
      this.#weights.clear();
    }
    return stamp;
  }

  #compared(ids: readonly number[], query: QueryVector): NearMessage[] {
    const near: NearMessage[] = [];
    for (let from = 0; from < ids.length; from += COMPARED_AT_ONCE) {
      for (const [messageId, vector] of this.#read(ids.slice(from, from + COMPARED_AT_ONCE), query.embedderId)) {
        near.push({ messageId, similarity: dot(vector, query.embedding) });
      }
    }
    return near;
  }

  #read(ids: readonly number[], embedderId: string): Map<number, Float32Array> {
    const { evidence } = this.#repositories;
    const stamp = this.#follow();
    if (stamp?.embedderId !== embedderId) return new Map();
    const unknown = ids.filter((id) => !this.#vectors.has(id));
    const read = unknown.length === 0 ? new Map<number, Float32Array>() : evidence.embeddings(unknown, embedderId);
    const found = new Map<number, Float32Array>();
    const countMax = Math.floor(NUMBERS_MAX / stamp.dimension);
    for (const id of ids) {
      const vector = this.#vectors.get(id) ?? read.get(id);
      if (vector === undefined) continue;
      found.set(id, vector);
      if (this.#vectors.size < countMax) this.#vectors.set(id, vector);
    }
    return found;
  }
}
