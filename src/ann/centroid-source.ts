/**
 * What the centroids of a store are at the moment: while it stays, they change only where the log says so. `forget` and
 * `verify --rebuild` write clusters anew and count that.
 */
export interface CentroidStamp {
  generation: number;
  /** Unix milliseconds: the generations of two stores have hardly ever begun in the same one. */
  createdAtMs: number;
  embedderId: string;
  dimension: number;
  rewriteCount: number;
}

export function isSameStamp(left: CentroidStamp | undefined, right: CentroidStamp | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return (
    left.generation === right.generation &&
    left.createdAtMs === right.createdAtMs &&
    left.embedderId === right.embedderId &&
    left.dimension === right.dimension &&
    left.rewriteCount === right.rewriteCount
  );
}

/** A cluster that can be compared: its embeddings have a direction. */
export interface Centroid {
  /** A message id. */
  root: number;
  /** Log position of its last start or join: with it, the vector changes. */
  position: number;
  /** It takes no more members. */
  settled: boolean;
  /** Of unit length. */
  vector: Float32Array;
}

/** Port: the clusters of a store. The store's room has the rows; here they are only compared. */
export interface CentroidSource {
  /** Undefined before anything was embedded. */
  stamp(): CentroidStamp | undefined;
  /** The newest position of the log. */
  newestPosition(): number;
  /** How many clusters there are, with or without a centroid. */
  clusterCount(): number;
  /** Roots of all clusters, also of those without a centroid. */
  roots(): number[];
  /** Roots of the clusters that were started, joined or settled after a log position. */
  changedSince(position: number): number[];
  /** Those of the given clusters that have a centroid, in the order of `roots`. */
  centroids(roots: Iterable<number>): Iterable<Centroid>;
  /** Every centroid there is, by root. */
  everyCentroid(): Iterable<Centroid>;
}

/** Port: the file that the clusters are in. */
export interface IndexedStore {
  /** Absolute, or `:memory:`. */
  readonly path: string;
  readonly readonly: boolean;
  /** Run single queries; what they throw, in the store's words. */
  guard<T>(query: () => T): T;
  /** Run `query` on one snapshot. */
  read<T>(query: () => T): T;
  /** Run `change` while no other process writes. */
  write<T>(operation: string, change: () => T): T;
}
