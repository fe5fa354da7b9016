/** The most vectors kept: about as many as eight concurrent calls pay for. */
const VECTORS_MAX = 1_000;

/**
 * Keeps vectors that were paid for by a call that failed later. A call succeeds as a whole, but may need several requests.
 * With a quota of one request a minute, it would otherwise start over each time and never end.
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
