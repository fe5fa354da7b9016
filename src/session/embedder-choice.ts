import { StoreError } from "../core/errors.ts";
import { type Embedder, isRemote, type LocalEmbedder } from "../models/embedder.ts";
import { embedderById } from "../models/embedders.ts";
import { geminiEmbedder } from "../models/gemini/embedder.ts";
import { assertGeminiInstalled } from "../models/gemini/options.ts";
import { hashingEmbedder } from "../models/hashing-embedder.ts";
import { openaiEmbedder } from "../models/openai/embedder.ts";
import { knownModel, SERVERS } from "../models/openai/servers.ts";
import { staticEmbedder } from "../models/static/embedder.ts";

/** Begins the name of a static model; its path follows. */
const FOLDER = "folder:";

/**
 * Returns the embedder for a name that a person typed: `hashing`, `gemini`, `ollama:nomic-embed-text` or a model of another
 * known server, `folder:PATH` for a static model, or an embedder's id.
 *
 * @param dimension  The dimension of the vectors of `gemini` or of a server's model; by default the model's own.
 * @param keyless  True if the key may be missing. Without a key, the embedder's calls fail.
 * @throws {StoreError} `OPTION_INVALID`, `MODEL_REFUSED`, `PACKAGE_MISSING`.
 */
export function embedderNamed(name: string, dimension: number | undefined, { keyless = false } = {}): Embedder {
  const [, server = "", model = ""] = /^([a-z]+):(.+)$/.exec(name) ?? [];
  const baseUrl = SERVERS[server]?.baseUrl;
  if (dimension !== undefined && name !== "gemini" && baseUrl === undefined) {
    const expected = "left out, except with gemini or a server's model";
    throw new StoreError("OPTION_INVALID", { option: "dimension", expected, actual: dimension });
  }
  const make: MakeEmbedder = (options) => {
    if (name === "hashing") return hashingEmbedder;
    if (name.startsWith(FOLDER)) return staticEmbedder({ folder: name.slice(FOLDER.length) });
    if (name === "gemini") {
      assertGeminiInstalled();
      return geminiEmbedder(dimension === undefined ? options : { ...options, dimension });
    }
    if (baseUrl === undefined || (dimension === undefined && endsWithDimension(model)))
      return embedderById(name, options);
    return openaiEmbedder({ ...options, baseUrl, model, ...(dimension !== undefined && { dimension }) });
  };
  return keyless ? orKeyless(make) : make({});
}

/** Returns the embedder with an id. @see embedderNamed */
export function embedderWithId(id: string, { keyless = false } = {}): Embedder {
  return keyless ? orKeyless((options) => embedderById(id, options)) : embedderById(id);
}

/**
 * Returns the embedder that a store was written with. Its calls fail if the key is missing: searches then use words only, and
 * appended messages wait for their vectors. @throws {StoreError} `EMBEDDER_MISMATCH` if Coppice does not have this embedder.
 */
export function storedEmbedder(id: string): Embedder {
  try {
    return embedderWithId(id, { keyless: true });
  } catch (cause) {
    // The folder of a static model may be the reason, too.
    if (!StoreError.is(cause, "OPTION_INVALID") || cause.details.actual !== id) throw cause;
    throw new StoreError("EMBEDDER_MISMATCH", { stored: id, given: hashingEmbedder.id }, { cause });
  }
}

/** Returns the embedder for reading a store. If Coppice does not have it, searches use words only. */
export function readingEmbedder(id: string): Embedder {
  try {
    return storedEmbedder(id);
  } catch (error) {
    // A folder of a static model may be gone.
    if (!StoreError.is(error, "EMBEDDER_MISMATCH") && !StoreError.is(error, "OPTION_INVALID")) throw error;
    return hashingEmbedder;
  }
}

/** Returns true for `nomic-embed-text-768`. The names of models end with other numbers: `voyage-3`, `mistral-embed-2312`. */
function endsWithDimension(name: string): boolean {
  const [, model = "", dimension] = /^(.+)-(\d+)$/.exec(name) ?? [];
  return Number(dimension) <= (knownModel(model).dimension ?? 0);
}

/** Makes a stand-in for an embedder that is never called, such as the old one during `reembed`. */
export function silentEmbedder(id: string, dimension: number): LocalEmbedder {
  return { id, dimension, similarityMin: 0, embed: () => undefined };
}

type MakeEmbedder = (options: { apiKey?: string }) => Embedder;

/** Makes an embedder whose calls fail if the key is missing. */
function orKeyless(make: MakeEmbedder): Embedder {
  try {
    return make({});
  } catch (error) {
    if (!StoreError.is(error, "MODEL_REFUSED")) throw error;
    const embedder = make({ apiKey: "none" });
    return isRemote(embedder) ? { ...embedder, embedAll: () => Promise.reject(error) } : embedder;
  }
}
