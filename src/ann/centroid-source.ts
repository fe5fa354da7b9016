/**
 * Identifies a state of the store's centroids. While it stays the same, the log names every centroid that changes.
 * `forget` and `verify --rebuild` rewrite centroids and increase `rewriteCount`.
 */
export interface CentroidStamp {
  generation: number;
  /** Unix milliseconds at which the generation began. Two stores may agree in all other values. */
  createdAtMs: number;
  embedderId: string;
  dimension: number;
  rewriteCount: number;
}

/** A cluster with its centroid, which has unit length. If its embeddings add up to zero, a cluster has no centroid. */
export interface Centroid {
  root: number;
  /** The log position of the cluster's last start or join. The vector changes only then. */
  position: number;
  settled: boolean;
  vector: Float32Array;
}

export interface CentroidSource {
  /** Undefined before anything was embedded. */
  stamp(): CentroidStamp | undefined;
  newestPosition(): number;
  clusterCount(): number;
  /** The roots of clusters with and without a centroid. */
  roots(): number[];
  /** The roots of clusters that a step started or joined, or that settled, after a log position. */
  changedSince(position: number): number[];
  /** The centroids of these clusters, in the given order. Clusters without one are skipped. */
  centroids(roots: Iterable<number>): Iterable<Centroid>;
  everyCentroid(): Iterable<Centroid>;
}

/** Port: the database file. */
export interface IndexedStore {
  /** An absolute path, or `:memory:`. */
  readonly path: string;
  readonly readonly: boolean;
  /** Runs `query` on one snapshot. */
  read<T>(query: () => T): T;
  /** Runs `change` while no other process writes. */
  write<T>(operation: string, change: () => T): T;
}
