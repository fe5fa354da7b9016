import type { NearestClusters } from "../ann/nearest-clusters.ts";
import { StoreError } from "../core/errors.ts";
import { formatHandle } from "../core/handle.ts";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import { trueOrFalse, wholeNumber } from "../core/options.ts";
import { type Embedder, isRemote } from "../models/embedder.ts";
import type { Repositories } from "../store/repositories.ts";
import { unitVector } from "./unit-vector.ts";

/** Roots that `nearestRoots` returns unless told otherwise. */
const K_DEFAULT = 10;

export interface NearestRootsOptions {
  /** At most so many, from 1 to 10,000; 10 unless given. */
  k?: number;
  /** Compare every cluster, however many there are; the index may miss some. */
  exact?: boolean;
}

/** A cluster near a text or a vector. */
export interface NearRoot {
  /** Handle of the cluster, at the log position of its last change. */
  root: string;
  level: "cluster";
  sessionId: string;
  /** Messages in it. */
  size: number;
  /** Cosine with its centroid, in [-1, 1]. */
  similarity: number;
}

/** What `nearestRoots` needs of the store. */
export interface NearestRootsPorts {
  repositories: Repositories;
  embedder: Embedder;
  nearest: NearestClusters;
}

/**
 * The clusters, of all sessions, whose centroids are nearest to a text or a vector: best first, ties to the older root.
 * Messages that have not graduated are in no cluster.
 *
 * @param target  A text, or a vector of the embedder's dimension, of any length but zero.
 * @returns fewer than `k` where there are fewer; none for a text without words.
 * @throws {StoreError} `VECTOR_INVALID` for another dimension, for numbers that are not finite, and where all are zero;
 *   `EMBEDDER_ASYNC` for a text where the embedder is remote; `EMBEDDER_MISMATCH` for a text where the store was opened to read with another embedder; `OPTION_INVALID`.
 */
export function nearestRoots(
  { repositories, embedder, nearest }: NearestRootsPorts,
  target: string | Float32Array | readonly number[],
  options: NearestRootsOptions = {},
): NearRoot[] {
  const k = wholeNumber("k", options.k ?? K_DEFAULT, 1, PAGE_LIMIT_MAX);
  const exact = trueOrFalse("exact", options.exact ?? false);
  const { database, centroids } = repositories;
  return database.read(() => {
    const generation = centroids.stamp();
    if (typeof target === "string" && generation !== undefined && generation.embedderId !== embedder.id) {
      throw new StoreError("EMBEDDER_MISMATCH", { stored: generation.embedderId, given: embedder.id });
    }
    const embedding = typeof target === "string" ? localVector(embedder, target) : undefined;
    if (typeof target === "string" && embedding === undefined) return [];
    const dimension = generation?.dimension ?? embedder.dimension;
    const unit = unitVector("the target of nearestRoots, if not a text,", embedding ?? target, dimension);
    return nearest.nearest(unit, { k, exact }).map(({ root, similarity }) => {
      const { sessionId, messageCount, logPosition } = centroids.found(root);
      return {
        root: formatHandle("cluster", root, logPosition),
        level: "cluster" as const,
        sessionId,
        size: messageCount,
        similarity,
      };
    });
  });
}

function localVector(embedder: Embedder, text: string): Float32Array | undefined {
  if (isRemote(embedder)) throw new StoreError("EMBEDDER_ASYNC", { embedder: embedder.id });
  return embedder.embed(text);
}
