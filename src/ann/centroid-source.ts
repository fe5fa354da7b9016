/**
 * Identifies the state of a store's centroids. While the stamp stays the same, centroids change only where the log says so.
 * `forget` and `verify --rebuild` write clusters again and count that in `rewriteCount`.
 */
export interface CentroidStamp {
  generation: number;
  /** Unix milliseconds at which the generation began. It tells apart two stores whose other values agree. */
  createdAtMs: number;
  embedderId: string;
  dimension: number;
  rewriteCount: number;
}

/** A cluster that can be compared. A cluster whose embeddings add up to nothing has no centroid. */
export interface Centroid {
  /** The message id that names the cluster. */
  root: number;
  /** The log position of the cluster's last start or join. The vector changes only then. */
  position: number;
  settled: boolean;
  /** The direction of the cluster's embeddings, of unit length. */
  vector: Float32Array;
}

/** Port: the clusters of a store. */
export interface CentroidSource {
  /** Undefined before anything was embedded. */
  stamp(): CentroidStamp | undefined;
  /** The newest position of the log. */
  newestPosition(): number;
  /** The number of clusters, with or without a centroid. */
  clusterCount(): number;
  /** The roots of all clusters, with or without a centroid. */
  roots(): number[];
  /** The roots of the clusters that were started, joined or settled after a log position. */
  changedSince(position: number): number[];
  /** The centroids of the given clusters, in the order of `roots`. Clusters without one are skipped. */
  centroids(roots: Iterable<number>): Iterable<Centroid>;
  /** Every centroid, in the order of the roots. */
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
