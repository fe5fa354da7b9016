import { untilAborted } from "../core/until-aborted.ts";
import { type Embedder, isRemote, type RemoteEmbedder } from "../models/embedder.ts";
import type { Repositories } from "../store/repositories.ts";
import { unitVector } from "./unit-vector.ts";

/** How long a search waits for the vector of its query. Without one, it searches by words. */
export const QUERY_VECTOR_MS_DEFAULT = 2_000;

/**
 * Asks a remote embedder for the vector of a query. Returns undefined if none comes in time, if the embedder is local, or if
 * the store was made with another embedder.
 *
 * @param msMax  Milliseconds to wait; 0 asks nobody.
 * @throws the signal's reason if it is aborted. A failing embedder never rejects.
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
 * Returns a remote embedder's vector of a query, with unit length.
 *
 * @throws the embedder's error, the signal's reason, or `VECTOR_INVALID`.
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
