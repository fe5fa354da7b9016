import type { SearchScope } from "../store/index.ts";
import type { QueryVector } from "./query-vector.ts";

/** The nearest messages that are ranked, in addition to those with the query's words. */
const NEAREST_MAX = 50;

/** Filters of roles, parts and times apply to this many of the nearest messages. */
const FILTERED_MAX = 400;

/** The members of this many clusters are compared. */
export const PROBED_CLUSTERS = 400;

/** If no more messages are in scope, all are compared. */
export const ALL_MAX = 5_000;

export const SAMPLE_SIZE = 256;

export interface NearMessage {
  messageId: number;
  /** The cosine with the query. */
  similarity: number;
}

/** Compares messages by what they mean. A store answers from its vectors, and a hub from those that were fetched of it. */
export interface VectorSource {
  /** Returns at most 50 messages in scope, nearest first. */
  nearest(query: QueryVector, scope: SearchScope): NearMessage[];
  /** Returns the cosines of messages with a query, by message id. Messages without a vector are missing. */
  cosines(ids: readonly number[], query: QueryVector): Map<number, number>;
  /** Returns the query's cosines with sampled messages, and how much cosines count (@see meaningWeight). */
  sample(query: QueryVector, scope: SearchScope): { sampled: number[]; weight: number };
}

/** Returns the nearest of some messages, best first. @param inScope  Returns those of the given messages that are in scope. */
export function nearestInScope(
  near: readonly NearMessage[],
  inScope: (ids: readonly number[]) => readonly number[],
): NearMessage[] {
  const sorted = [...near].sort(
    (left, right) => right.similarity - left.similarity || left.messageId - right.messageId,
  );
  const first = inScope(sorted.slice(0, FILTERED_MAX).map(({ messageId }) => messageId));
  const wanted = new Set(first);
  return sorted.filter(({ messageId }) => wanted.has(messageId)).slice(0, NEAREST_MAX);
}

/** Samples by the hashes of ids, so that a new id seldom changes the sample. */
export function sampleBy<T>(all: readonly T[], idOf: (one: T) => number): T[] {
  return all
    .map((one) => ({ one, id: idOf(one), hash: mixed(idOf(one)) }))
    .sort((left, right) => left.hash - right.hash || left.id - right.id)
    .slice(0, SAMPLE_SIZE)
    .map(({ one }) => one);
}

/** The finalizer of MurmurHash3. */
export function mixed(value: number): number {
  let hash = Math.imul(value, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
