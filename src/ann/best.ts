/** A cluster and how near it is. */
export interface NearCluster {
  root: number;
  /** Exact cosine with the cluster's centroid, in [-1, 1]. */
  similarity: number;
}

/** The best of many, kept while they come: sorted and cut whenever as many again have come, so each costs O(log k). */
export class Best {
  readonly #k: number;
  #kept: NearCluster[] = [];
  /** What cannot be among the best is not kept. */
  #similarityMin = Number.NEGATIVE_INFINITY;

  constructor(k: number) {
    this.#k = k;
  }

  offer(root: number, similarity: number): void {
    if (similarity < this.#similarityMin) return;
    // Rounding can carry the product of unit vectors past 1.
    this.#kept.push({ root, similarity: Math.max(-1, Math.min(1, similarity)) });
    if (this.#kept.length >= 2 * this.#k + 64) this.#cut();
  }

  /** Best first, ties to the older root. */
  list(): NearCluster[] {
    this.#cut();
    return this.#kept;
  }

  #cut(): void {
    this.#kept.sort((left, right) => right.similarity - left.similarity || left.root - right.root);
    if (this.#kept.length <= this.#k) return;
    this.#kept.length = this.#k;
    this.#similarityMin = this.#kept.at(-1)!.similarity;
  }
}
