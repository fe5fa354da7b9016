import { StoreError } from "../core/errors.ts";
import { untilAborted } from "../core/until-aborted.ts";
import { type Embedder, isRemote, type RemoteEmbedder } from "../models/embedder.ts";
import type { Repositories } from "../store/index.ts";
import { normalize } from "../vector/vector.ts";

/** A search waits this long for the vector of its query. Without a vector, it searches by words. */
export const QUERY_VECTOR_MS_DEFAULT = 2_000;

interface VectorPorts {
  repositories: Repositories;
  embedder: Embedder;
}

export interface QueryVector {
  embedderId: string;
  embedding: Float32Array;
}

/** Returns the query's vector; undefined if the store's embedder cannot make it here. @param given  The caller's vector, if any. */
export function queryVector(
  { repositories, embedder }: VectorPorts,
  text: string,
  given: unknown,
): QueryVector | undefined {
  const stored = repositories.centroids.stamp();
  const embedderId = stored?.embedderId ?? embedder.id;
  const dimension = stored?.dimension ?? embedder.dimension;
  const embedding = given ?? (embedderId === embedder.id && !isRemote(embedder) ? embedder.embed(text) : undefined);
  if (embedding === undefined) return undefined;
  return { embedderId, embedding: unitVector("the query's embedding", embedding, dimension) };
}

/**
 * Asks a remote embedder for the vector of a query. Returns undefined if none comes in time, if the embedder is local, or if
 * the store was made with another embedder.
 *
 * @param msMax  Milliseconds to wait; 0 asks nobody.
 * @throws the signal's reason if it is aborted. Returns undefined also after an error of the embedder.
 */
export async function remoteQueryVector(
  { repositories, embedder }: VectorPorts,
  text: string,
  msMax: number,
  given: AbortSignal,
): Promise<Float32Array | undefined> {
  given.throwIfAborted();
  if (!isRemote(embedder) || msMax === 0) return undefined;
  const stored = repositories.database.read(() => repositories.centroids.stamp());
  if (stored?.embedderId !== embedder.id) return undefined;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`nothing came within ${msMax} ms`)), msMax);
  try {
    return await askQueryVector(embedder, text, AbortSignal.any([given, late.signal]));
  } catch {
    given.throwIfAborted();
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Returns the vector that a store's embedder gives to a query. Undefined if the embedder is lexical, if it is not the one that the
 * store was made with, or if it does not answer in time.
 *
 * @throws the signal's reason if it is aborted.
 */
export async function semanticVector(
  ports: VectorPorts,
  text: string,
  msMax: number,
  signal: AbortSignal,
): Promise<QueryVector | undefined> {
  if (ports.embedder.isLexical) return undefined;
  const given = await remoteQueryVector(ports, text, msMax, signal);
  return ports.repositories.database.read(() => queryVector(ports, text, given));
}

/** @throws the embedder's error, the signal's reason, or `VECTOR_INVALID`. */
async function askQueryVector(embedder: RemoteEmbedder, text: string, signal: AbortSignal): Promise<Float32Array> {
  const call = (async () => embedder.embedAll({ texts: [text], task: "query", signal }))();
  const vectors = await untilAborted(call, signal);
  return unitVector("the query's embedding", vectors[0], embedder.dimension);
}

/**
 * Returns a copy of a caller's vector with unit length.
 *
 * @param name  Names the vector in errors.
 * @throws {StoreError} `VECTOR_INVALID` for another dimension, for numbers that are not finite in 32 bits, and if all are
 *   zero; `OPTION_INVALID` for any other value.
 */
export function unitVector(name: string, given: unknown, dimension: number): Float32Array {
  const refuse = (reason: string, expected: number, actual: number): never => {
    throw new StoreError("VECTOR_INVALID", { reason, expected, actual });
  };
  if (!(given instanceof Float32Array) && !Array.isArray(given)) {
    const expected = "a Float32Array or an array of numbers";
    throw new StoreError("OPTION_INVALID", { option: name, expected, actual: given });
  }
  if (given.length !== dimension) refuse("its dimension is not the store's", dimension, given.length);
  // Values that are not numbers become NaN and are refused below. Float32Array would throw on a bigint.
  const vector = Float32Array.from(given as ArrayLike<unknown>, (value) =>
    typeof value === "number" ? value : Number.NaN,
  );
  const finiteCount = vector.filter(Number.isFinite).length;
  if (finiteCount < dimension) refuse("not all its numbers are finite in 32 bits", dimension, finiteCount);
  // Dividing by the largest number first keeps the precision of very small numbers.
  const largest = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  if (largest === 0) refuse("it has no direction: all its numbers are zero", 1, 0);
  return normalize(vector.map((value) => value / largest));
}
