import type { OnUsage } from "./summarizer.ts";

interface AnyEmbedder {
  /** Names the model and everything that changes its output, such as the dimension: `hashing-v1-384`. */
  readonly id: string;
  /** The length of every vector. */
  readonly dimension: number;
  /** The least cosine with which a step may join a cluster, in [-1, 1], calibrated for this embedder. */
  readonly similarityMin: number;
  /** True if texts are similar only when they share words. Then `recall` searches by words only. */
  readonly isLexical?: boolean;
}

/**
 * Port: turns a text into a vector, synchronously and on this machine. It must give the same bits in every process and on every
 * machine, because vectors are stored and compared for years.
 */
export interface LocalEmbedder extends AnyEmbedder {
  /** Returns a vector of unit length, or undefined if the text has no words. */
  embed(text: string): Float32Array | undefined;
}

/** Port: turns texts into vectors by a model service. A message is stored first, and gets its vector later. */
export interface RemoteEmbedder extends AnyEmbedder {
  /** The most texts in one request. */
  readonly textsMax: number;
  /** US dollars per million tokens, for estimates. Undefined if unknown. */
  readonly usdPerMillionTokens?: number;
  /** The host that gets the texts, if they leave the machine and it is known. */
  readonly sentTo?: string;
  /**
   * Returns a vector of unit length for each text, in order. It may take long, and the caller holds no transaction meanwhile.
   *
   * @throws the signal's reason if aborted; an error if a text has no vector, or if a vector has a wrong dimension.
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
  /** Call this right before each request that is paid for. If it throws, do not send the request, and reject. */
  onSend?: () => void;
}

/** Vectors of embedders with different ids are never compared. */
export type Embedder = LocalEmbedder | RemoteEmbedder;

export function isRemote(embedder: Embedder): embedder is RemoteEmbedder {
  return "embedAll" in embedder;
}
