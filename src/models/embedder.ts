import type { OnUsage } from "./usage.ts";

interface AnyEmbedder {
  /** Names the model and everything that changes its output, such as the dimension: `hashing-v1-384`. */
  readonly id: string;
  /** The length of every vector. */
  readonly dimension: number;
  /** The cosine from which a step may join a cluster, in [-1, 1], calibrated for this embedder. */
  readonly similarityMin: number;
  /**
   * True if texts are similar only when they share words. A search by words then finds as much as a search by vectors.
   * Otherwise `recall` also searches the clusters nearest to the query.
   */
  readonly isLexical?: boolean;
}

/**
 * Port: turns a text into a vector, synchronously and on this machine.
 *
 * An implementation must be deterministic: one text gives the same bits in every process and on every machine, because
 * vectors are stored and compared for years.
 */
export interface LocalEmbedder extends AnyEmbedder {
  /** Returns a vector of unit length, or undefined if the text has no words. */
  embed(text: string): Float32Array | undefined;
}

/** Port: turns texts into vectors by a model service. A message is stored first and gets its vector later. */
export interface RemoteEmbedder extends AnyEmbedder {
  /** The most texts in one request. */
  readonly textsMax: number;
  /** US dollars per million tokens, for estimates. Undefined if unknown. */
  readonly usdPerMillionTokens?: number;
  /**
   * Returns a vector of unit length for each text, in order.
   *
   * It may fail and may take long; the caller holds no transaction meanwhile. It succeeds as a whole: a reply with a wrong
   * number of vectors, or a wrong dimension, is a failure.
   *
   * @throws the signal's reason once it is aborted.
   */
  embedAll(request: EmbedRequest): Promise<Float32Array[]>;
}

export interface EmbedRequest {
  /** One to `textsMax` texts. None is empty. */
  texts: readonly string[];
  /** `document` for texts that are stored and found, `query` for texts that search. */
  task: "document" | "query";
  signal: AbortSignal;
  onUsage?: OnUsage;
}

/** Vectors of embedders with different `id`s are never compared. */
export type Embedder = LocalEmbedder | RemoteEmbedder;

export function isRemote(embedder: Embedder): embedder is RemoteEmbedder {
  return "embedAll" in embedder;
}
