import { StoreError } from "../core/errors.ts";
import { type Embedder, isRemote, type LocalEmbedder } from "../models/embedder.ts";
import { embedderById } from "../models/embedders.ts";
import { geminiEmbedder } from "../models/gemini/embedder.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";

/**
 * Returns the embedder that a person names: `hashing`, `gemini`, or an id.
 *
 * @param dimension  The dimension of `gemini`'s vectors; by default the model's own.
 * @param keyless  True if a key is not required. The embedder then has its id and dimension, but fails when it is called.
 * @throws {StoreError} `EMBEDDER_UNKNOWN`, `OPTION_INVALID`, `MODEL_KEY_MISSING`.
 */
export function embedderNamed(name: string, dimension: number | undefined, { keyless = false } = {}): Embedder {
  if (dimension !== undefined && name !== "gemini") {
    const expected = "left out, except with gemini";
    throw new StoreError("OPTION_INVALID", { option: "dimension", expected, actual: dimension });
  }
  const make: MakeEmbedder = (options) => {
    if (name === "hashing") return hashingEmbedder;
    if (name === "gemini") return geminiEmbedder(dimension === undefined ? options : { ...options, dimension });
    return embedderById(name, options);
  };
  return keyless ? orKeyless(make) : make({});
}

/**
 * Returns the embedder that a store was written with. If there is no key, the store opens anyway: searches then use words only,
 * and appended messages wait for their vectors.
 *
 * @throws {StoreError} `EMBEDDER_UNKNOWN` for an embedder that is not ours.
 */
export function storedEmbedder(id: string): Embedder {
  return orKeyless((options) => embedderById(id, options));
}

/** Returns the embedder for reading a store. If it is not one of ours, searches use words only. */
export function readingEmbedder(id: string): Embedder {
  try {
    return storedEmbedder(id);
  } catch (error) {
    if (!StoreError.is(error, "EMBEDDER_UNKNOWN")) throw error;
    return hashingEmbedder;
  }
}

/** Replaces an embedder that is not to be called: the one that `reembed` replaces, and the one of a temporary copy. */
export function silentEmbedder(id: string, dimension: number): LocalEmbedder {
  return { id, dimension, similarityMin: 0, embed: () => undefined };
}

type MakeEmbedder = (options: { apiKey?: string }) => Embedder;

/** Makes an embedder, even if there is no key. It then fails when it is called. */
function orKeyless(make: MakeEmbedder): Embedder {
  try {
    return make({});
  } catch (error) {
    if (!StoreError.is(error, "MODEL_KEY_MISSING")) throw error;
    const embedder = make({ apiKey: "none" });
    return isRemote(embedder) ? { ...embedder, embedAll: () => Promise.reject(error) } : embedder;
  }
}
