import { untilAborted } from "../core/until-aborted.ts";
import { type Embedder, isRemote, type RemoteEmbedder } from "../models/embedder.ts";
import type { Repositories } from "../store/repositories.ts";
import { unitVector } from "./unit-vector.ts";

/** How long a search waits for the vector of its query; it finds by words what it can without. */
export const QUERY_VECTOR_MS_DEFAULT = 2_000;

/**
 * The vector of a query from an embedder that is elsewhere. Undefined where none comes in time or none could be compared:
 * the embedder is local, or another one than the store was made with.
 *
 * @param msMax  Milliseconds; with 0 nobody is asked.
 * @throws the signal's reason if it is aborted. A failing model never rejects.
 */
export async function remoteQueryVector(
  { repositories, embedder }: { repositories: Repositories; embedder: Embedder },
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
 * What an embedder that is elsewhere makes of a query, of unit length.
 *
 * @throws what the embedder throws, the signal's reason, and `VECTOR_INVALID`.
 */
export async function askQueryVector(
  embedder: RemoteEmbedder,
  text: string,
  signal: AbortSignal,
): Promise<Float32Array> {
  const call = (async () => embedder.embedAll({ texts: [text], task: "query", signal }))();
  const vectors = await untilAborted(call, signal);
  return unitVector("the query's embedding", vectors[0], embedder.dimension);
}
