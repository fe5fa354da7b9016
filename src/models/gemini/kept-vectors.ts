/** Vectors kept at most: what eight calls at once have paid for. */
const VECTORS_MAX = 1_000;

/**
 * Vectors that were paid for by calls that failed later: a call is all or none, but it may take several requests, and where a
 * quota has room for one of them a minute, it would start over each time and never end.
 */
export class KeptVectors {
  #vectors = new Map<string, Float32Array>();

  /** The vector of a text, which is kept no longer. */
  take(text: string): Float32Array | undefined {
    const vector = this.#vectors.get(text);
    this.#vectors.delete(text);
    return vector;
  }

  /** The oldest give way to new ones. */
  keep(text: string, vector: Float32Array): void {
    this.#vectors.set(text, vector);
    if (this.#vectors.size <= VECTORS_MAX) return;
    const [oldest] = this.#vectors.keys();
    this.#vectors.delete(oldest!);
  }
}
