/** The most vectors kept: about as many as eight concurrent calls request. */
const VECTORS_MAX = 1_000;

/**
 * Keeps the vectors that a call got before it failed. A call fails as a whole, but may need several requests. Without this,
 * a call with a quota of one request a minute would start over each time and never end.
 */
export class KeptVectors {
  #vectors = new Map<string, Float32Array>();

  /** Removes and returns the vector of a text. */
  take(text: string): Float32Array | undefined {
    const vector = this.#vectors.get(text);
    this.#vectors.delete(text);
    return vector;
  }

  /** Keeps a vector, and drops the oldest if there are too many. */
  keep(text: string, vector: Float32Array): void {
    this.#vectors.set(text, vector);
    if (this.#vectors.size <= VECTORS_MAX) return;
    const [oldest] = this.#vectors.keys();
    this.#vectors.delete(oldest!);
  }
}
