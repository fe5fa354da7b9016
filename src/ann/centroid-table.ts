import { dotAt } from "../vector/vector.ts";
import type { Best } from "./best.ts";
import type { Centroid } from "./centroid-source.ts";

const CAPACITY_MIN = 64;

/**
 * Centroids in memory, compared one by one. That is exact, and up to a thousand clusters faster than any index.
 *
 * A cluster of 384 dimensions costs 1.5 KB, so 50,000 cost 77 MB. The table may hold twice as much after it has grown, and
 * four times as much after it has shrunk.
 */
export class CentroidTable {
  readonly #dimension: number;
  #rows: Float32Array;
  /** Indexed by row. */
  readonly #centroids: Omit<Centroid, "vector">[] = [];
  readonly #rowOf = new Map<number, number>();

  constructor(dimension: number) {
    this.#dimension = dimension;
    this.#rows = new Float32Array(CAPACITY_MIN * dimension);
  }

  get count(): number {
    return this.#centroids.length;
  }

  has(root: number): boolean {
    return this.#rowOf.has(root);
  }

  /** Adds a cluster, or replaces it. */
  put({ vector, ...centroid }: Centroid): void {
    const row = this.#rowOf.get(centroid.root) ?? this.#centroids.length;
    if ((row + 1) * this.#dimension > this.#rows.length) {
      const larger = new Float32Array(2 * this.#rows.length);
      larger.set(this.#rows);
      this.#rows = larger;
    }
    this.#rows.set(vector, row * this.#dimension);
    this.#centroids[row] = centroid;
    this.#rowOf.set(centroid.root, row);
  }

  /** Removes a cluster if it is there. The last row moves into the gap. */
  delete(root: number): void {
    const row = this.#rowOf.get(root);
    if (row === undefined) return;
    this.#rowOf.delete(root);
    const last = this.#centroids.pop()!;
    if (last.root !== root) {
      const lastRow = this.#centroids.length;
      this.#rows.copyWithin(row * this.#dimension, lastRow * this.#dimension, (lastRow + 1) * this.#dimension);
      this.#centroids[row] = last;
      this.#rowOf.set(last.root, row);
    }
    // It shrinks only when three quarters are empty, so that a table at the border is not copied at each change.
    const half = this.#rows.length / 2;
    const isEmpty = 2 * this.#centroids.length * this.#dimension < half;
    if (isEmpty && half >= CAPACITY_MIN * this.#dimension) this.#rows = this.#rows.slice(0, half);
  }

  /** Returns a cluster. Its vector is the table's own memory: use it at once, and do not change it. */
  get(root: number): Centroid | undefined {
    const row = this.#rowOf.get(root);
    if (row === undefined) return undefined;
    const vector = this.#rows.subarray(row * this.#dimension, (row + 1) * this.#dimension);
    return { ...this.#centroids[row]!, vector };
  }

  /** Returns all clusters without their vectors, in no order. */
  list(): readonly Omit<Centroid, "vector">[] {
    return this.#centroids;
  }

  /** Offers each cluster that `accepts` accepts, with its similarity to a vector of unit length. */
  offerTo(best: Best, vector: Float32Array, accepts: ((root: number) => boolean) | undefined): void {
    for (let row = 0; row < this.#centroids.length; row++) {
      const { root } = this.#centroids[row]!;
      if (accepts !== undefined && !accepts(root)) continue;
      best.offer(root, dotAt(this.#rows, row * this.#dimension, vector));
    }
  }
}
