/**
 * Port: text to vector.
 *
 * An implementation is deterministic: the same text gives the same bits, in every process and on every machine, because
 * vectors are stored beside the messages and compared for years. Vectors of embedders with different `id`s are never
 * compared.
 */
export interface Embedder {
  /** Names the model and everything that changes its output, such as the dimension: `hashing-v1-256`. */
  readonly id: string;
  /** Length of every vector. */
  readonly dimension: number;
  /** Cosine from which a step may join a cluster, in [-1, 1]; calibrated for this embedder. */
  readonly similarityMin: number;
  /**
   * Whether two texts are near only where they share words. A search by words then finds what vectors would; without it,
   * `recall` also looks into the clusters nearest to the query.
   */
  readonly isLexical?: boolean;
  /** A unit-length vector, or undefined where the text has no words. */
  embed(text: string): Float32Array | undefined;
}
