import { StoreError } from "../core/errors.ts";
import { type Embedder, isRemote, type LocalEmbedder, type RemoteEmbedder } from "../models/embedder.ts";
import { embedderById } from "../models/embedders.ts";
import { geminiEmbedder } from "../models/gemini/embedder.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";

/** In place of a key where none is needed, because nothing is sent. */
const NO_KEY = "none";

/**
 * The embedder that a person names: `hashing`, `gemini`, or an id.
 *
 * @param dimension  Of its vectors, for `gemini`; what it says of itself unless given.
 * @param keyless  Whether it may do without a key: it then says of itself what it would, and fails when it is asked.
 * @throws {StoreError} `EMBEDDER_UNKNOWN`, `OPTION_INVALID`, `MODEL_KEY_MISSING`.
 */
export function embedderNamed(name: string, dimension: number | undefined, { keyless = false } = {}): Embedder {
  if (dimension !== undefined && name !== "gemini") {
    const expected = "left out: only with gemini it can be chosen";
    throw new StoreError("OPTION_INVALID", { option: "dimension", expected, actual: dimension });
  }
  const make = (options: { apiKey?: string }): Embedder => {
    if (name === "hashing") return hashingEmbedder;
    if (name === "gemini") return geminiEmbedder(dimension === undefined ? options : { ...options, dimension });
    return embedderById(name, options);
  };
  return keyless ? orKeyless(make) : make({});
}

/**
 * The embedder that a store was written with, to go on with it. Without a key it opens the store all the same: what is read
 * is found by words, and what is appended waits for its vector.
 *
 * @throws {StoreError} `EMBEDDER_UNKNOWN` for one that is not ours.
 */
export function storedEmbedder(id: string): Embedder {
  return orKeyless((options) => embedderById(id, options));
}

/** The same to read only, where a store of an embedder that is not ours is searched by words. */
export function readingEmbedder(id: string): Embedder {
  try {
    return storedEmbedder(id);
  } catch (error) {
    if (!StoreError.is(error, "EMBEDDER_UNKNOWN")) throw error;
    return hashingEmbedder;
  }
}

/** Stands for an embedder that is to be replaced, whatever it was, and is not asked any more. */
export function replacedEmbedder(id: string, dimension: number): RemoteEmbedder {
  return {
    id,
    dimension,
    similarityMin: 0,
    textsMax: 1,
    embedAll: () => Promise.reject(new StoreError("EMBEDDER_MISMATCH", { stored: id, given: "another" })),
  };
}

/** Stands for the embedder of a copy that is thrown away, whatever it is: nothing is asked, paid or waited for. */
export function triedEmbedder(id: string, dimension: number): LocalEmbedder {
  return { id, dimension, similarityMin: 0, embed: () => undefined };
}

function orKeyless(make: (options: { apiKey?: string }) => Embedder): Embedder {
  try {
    return make({});
  } catch (error) {
    if (!StoreError.is(error, "MODEL_KEY_MISSING")) throw error;
    const embedder = make({ apiKey: NO_KEY });
    return isRemote(embedder) ? { ...embedder, embedAll: () => Promise.reject(error) } : embedder;
  }
}
