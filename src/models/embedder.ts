import type { OnUsage } from "./usage.ts";

interface AnyEmbedder {
  /** Names the model and everything that changes its output, such as the dimension: `hashing-v1-384`. */
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
}

/**
 * Port: text to vector, on this machine and at once.
 *
 * An implementation is deterministic: the same text gives the same bits, in every process and on every machine, because
 * vectors are stored beside the messages and compared for years.
 */
export interface LocalEmbedder extends AnyEmbedder {
  /** A unit-length vector, or undefined where the text has no words. */
  embed(text: string): Float32Array | undefined;
}

/**
 * Port: texts to vectors, by a model that is elsewhere. A message is stored first and gets its vector later.
 */
export interface RemoteEmbedder extends AnyEmbedder {
  /** Texts of one request at most. */
  readonly textsMax: number;
  /** US dollars for a million tokens, to tell beforehand what many texts will cost; undefined where it is not known. */
  readonly usdPerMillionTokens?: number;
  /**
   * A unit-length vector for each text, in their order.
   *
   * May fail and may take long; the caller holds no transaction meanwhile. All or none: a reply with another number of
   * vectors, or of another dimension, is a failure.
   *
   * @throws the signal's reason once it is aborted.
   */
  embedAll(request: EmbedRequest): Promise<Float32Array[]>;
}

export interface EmbedRequest {
  /** From one to `textsMax`, each with something in it. */
  texts: readonly string[];
  /** Whether they are to be found, or to find. */
  task: "document" | "query";
  signal: AbortSignal;
  onUsage?: OnUsage;
}

/** Vectors of embedders with different `id`s are never compared. */
export type Embedder = LocalEmbedder | RemoteEmbedder;

export function isRemote(embedder: Embedder): embedder is RemoteEmbedder {
  return "embedAll" in embedder;
}
