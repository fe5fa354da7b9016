import * as z from "zod/mini";
import { DamageError } from "../core/damage.ts";
import { StoreError } from "../core/errors.ts";
import { formatHandle } from "../core/handle.ts";
import { PAGE_LIMIT_MAX } from "../core/limits.ts";
import { once } from "../core/once.ts";
import { type FieldsOf, parseOptions, trueOrFalse, whole } from "../core/schema.ts";
import { isRemote } from "../models/embedder.ts";
import { unitVector } from "./query-vector.ts";
import type { RecallPorts } from "./recall.ts";

export interface NearestRootsOptions {
  /** Most clusters to return: 1 to 10,000, by default 10. */
  k?: number;
  /** True to compare every cluster. The index may miss some. */
  exact?: boolean;
}

const nearestRootsSchema = once(() =>
  z.strictObject({
    k: z._default(whole(1, PAGE_LIMIT_MAX), 10),
    exact: z._default(trueOrFalse(), false),
  } satisfies FieldsOf<NearestRootsOptions>),
);

export interface NearRoot {
  /** The handle of the cluster, at the log position of its last change. */
  root: string;
  level: "cluster";
  sessionId: string;
  /** The number of messages. */
  size: number;
  /** The cosine with its centroid, in [-1, 1]. */
  similarity: number;
}

/**
 * Returns the clusters of all sessions whose centroids are nearest to a text or a vector, best first, then oldest first.
 * Messages that have not graduated are in no cluster.
 *
 * @param target  A text, or a vector of the embedder's dimension and any length above 0.
 * @returns at most `k` clusters; none for a text without words.
 * @throws {StoreError} `VECTOR_INVALID` for another dimension, for numbers that are not finite, and if all are zero;
 *   `OPTION_INVALID`, also for a text if the embedder is remote; `EMBEDDER_MISMATCH` for a text if the store has another embedder.
 */
export function nearestRoots(
  { repositories, embedder, nearest }: RecallPorts,
  target: string | Float32Array | readonly number[],
  options: NearestRootsOptions = {},
): NearRoot[] {
  const asked = parseOptions("nearestRoots", nearestRootsSchema(), options);
  const { database, centroids, clusters } = repositories;
  return database.read(() => {
    const generation = centroids.stamp();
    const embed = (text: string): Float32Array | undefined => {
      const stored = generation?.embedderId ?? embedder.id;
      if (stored !== embedder.id) throw new StoreError("EMBEDDER_MISMATCH", { stored, given: embedder.id });
      if (isRemote(embedder)) {
        const expected = `a vector, because the embedder "${embedder.id}" is remote, and this call cannot wait`;
        const fix = "Pass a vector that the embedder made of the text, with the task `query`.";
        throw new StoreError("OPTION_INVALID", { option: "the target", expected, actual: text, fix });
      }
      return embedder.embed(text);
    };
    const embedding = typeof target === "string" ? embed(target) : target;
    if (typeof target === "string" && embedding === undefined) return [];
    const dimension = generation?.dimension ?? embedder.dimension;
    const unit = unitVector("the target of nearestRoots, if not a text,", embedding, dimension);
    return nearest.nearest(unit, asked).map(({ root, similarity }) => {
      const cluster = clusters.begun(root);
      if (cluster === undefined) throw new DamageError(`cluster ${root} has no row`);
      const { sessionId, messageCount, logPosition } = cluster;
      const handle = formatHandle("cluster", root, logPosition);
      return { root: handle, level: "cluster" as const, sessionId, size: messageCount, similarity };
    });
  });
}
