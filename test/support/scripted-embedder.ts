import { type EmbedRequest, type RemoteEmbedder, StoreError } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";

/** An embedder as one that is elsewhere behaves, by script: its vectors are those of the local one. */
export interface ScriptedEmbedder extends RemoteEmbedder {
  /** Every request that came, in order. */
  readonly requests: EmbedRequest[];
  /** What the next requests do, until another is set; they answer unless it throws or never ends. */
  before: (request: EmbedRequest) => Promise<void> | void;
}

export function scriptedEmbedder({ textsMax = 10, id = "scripted-384" } = {}): ScriptedEmbedder {
  const embedder: ScriptedEmbedder = {
    id,
    dimension: hashingEmbedder.dimension,
    similarityMin: hashingEmbedder.similarityMin,
    textsMax,
    requests: [],
    before: () => {},
    async embedAll(request) {
      embedder.requests.push(request);
      await embedder.before(request);
      return request.texts.map(vectorOf);
    },
  };
  return embedder;
}

/** A unit vector also for a text without words, as of any remote model. */
export function vectorOf(text: string): Float32Array {
  const vector = hashingEmbedder.embed(text);
  if (vector !== undefined) return vector;
  const unit = new Float32Array(hashingEmbedder.dimension);
  unit[0] = 1;
  return unit;
}

export function hang(): Promise<void> {
  return new Promise(() => {});
}

export function away(retryAfterMs?: number): StoreError {
  const delay = retryAfterMs === undefined ? {} : { retryAfterMs };
  return new StoreError("MODEL_UNAVAILABLE", { model: "scripted", reason: "quota exceeded", status: 429, ...delay });
}

export function refused(status = 400): StoreError {
  return new StoreError("MODEL_REFUSED", { model: "scripted", reason: "invalid argument", status });
}
