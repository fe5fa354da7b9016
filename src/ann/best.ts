export interface NearCluster {
  root: number;
  /** The exact cosine with the cluster's centroid, in [-1, 1]. */
  similarity: number;
}

/** Keeps the best `k` clusters. It sorts only after its list has grown by `k`, so adding a cluster costs O(log k). */
export class Best {
  readonly #k: number;
  #kept: NearCluster[] = [];
  /** A cluster with a lower similarity cannot be among the best. */
  #similarityMin = Number.NEGATIVE_INFINITY;

  constructor(k: number) {
    this.#k = k;
  }

  offer(root: number, similarity: number): void {
    if (similarity < this.#similarityMin) return;
    // Rounding can carry the product of unit vectors past 1.
    this.#kept.push({ root, similarity: Math.max(-1, Math.min(1, similarity)) });
    if (this.#kept.length >= 2 * this.#k + 64) this.list();
  }

  /** Returns the best clusters, best first. If two are equally near, the older root comes first. */
  list(): NearCluster[] {
    this.#kept.sort((left, right) => right.similarity - left.similarity || left.root - right.root);
    if (this.#kept.length > this.#k) {
      this.#kept.length = this.#k;
      this.#similarityMin = this.#kept.at(-1)!.similarity;
    }
    return this.#kept;
  }
}
