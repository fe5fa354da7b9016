import { dotAt } from "../vector/vector.ts";
import type { Best } from "./best.ts";
import type { Centroid } from "./centroid-source.ts";

const CAPACITY_MIN = 64;

/**
 * Centroids in memory, side by side, compared one by one: exact, and below a thousand faster than any index.
 *
 * Costs 4 bytes a number: 1.5 KB a cluster of 384 dimensions, 77 MB for 50,000; up to twice that after it has grown, and up
 * to four times after it has shrunk.
 */
export class CentroidTable {
  readonly #dimension: number;
  #rows: Float32Array;
  /** By row. */
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

  /** Take a cluster in, or what has become of it. */
  put({ vector, ...centroid }: Centroid): void {
    const row = this.#rowOf.get(centroid.root) ?? this.#centroids.length;
    const end = (row + 1) * this.#dimension;
    if (end > this.#rows.length) {
      const larger = new Float32Array(2 * this.#rows.length);
      larger.set(this.#rows);
      this.#rows = larger;
    }
    this.#rows.set(vector, row * this.#dimension);
    this.#centroids[row] = centroid;
    this.#rowOf.set(centroid.root, row);
  }

  delete(root: number): void {
    const row = this.#rowOf.get(root);
    if (row === undefined) return;
    this.#rowOf.delete(root);
    const last = this.#centroids.pop()!;
    if (last.root !== root) {
      // The last one moves into the gap.
      const lastRow = this.#centroids.length;
      this.#rows.copyWithin(row * this.#dimension, lastRow * this.#dimension, (lastRow + 1) * this.#dimension);
      this.#centroids[row] = last;
      this.#rowOf.set(last.root, row);
    }
    this.#shrink();
  }

  /** Only when three quarters are empty, so that what comes and goes at a border does not copy it each time. */
  #shrink(): void {
    const used = this.#centroids.length * this.#dimension;
    const half = this.#rows.length / 2;
    if (2 * used < half && half >= CAPACITY_MIN * this.#dimension) this.#rows = this.#rows.slice(0, half);
  }

  /** One of them, with its vector in the table's own memory: to be used at once, and not to be changed. */
  get(root: number): Centroid | undefined {
    const row = this.#rowOf.get(root);
    if (row === undefined) return undefined;
    const vector = this.#rows.subarray(row * this.#dimension, (row + 1) * this.#dimension);
    return { ...this.#centroids[row]!, vector };
  }

  /** All but their vectors, in no order. */
  list(): readonly Omit<Centroid, "vector">[] {
    return this.#centroids;
  }

  /** Offer all of them, or those that `accepts` accepts, with their similarity to a vector of unit length. */
  offerTo(best: Best, vector: Float32Array, accepts: ((root: number) => boolean) | undefined): void {
    for (let row = 0; row < this.#centroids.length; row++) {
      const { root } = this.#centroids[row]!;
      if (accepts !== undefined && !accepts(root)) continue;
      best.offer(root, dotAt(this.#rows, row * this.#dimension, vector));
    }
  }
}
