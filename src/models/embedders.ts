import { StoreError } from "../core/errors.ts";
import type { Embedder } from "./embedder.ts";
import { type GeminiEmbedderOptions, geminiEmbedder } from "./gemini/embedder.ts";
import { hashingEmbedder } from "./hashing-embedder.ts";

const GEMINI_ID = /^(gemini-embedding-.+)-(\d+)$/;

/**
 * Returns the embedder with an id, such as `gemini-embedding-2-768`.
 *
 * @throws {StoreError} `EMBEDDER_UNKNOWN`, `MODEL_KEY_MISSING`, `OPTION_INVALID`.
 */
export function embedderById(id: string, options: Omit<GeminiEmbedderOptions, "model" | "dimension"> = {}): Embedder {
  if (id === hashingEmbedder.id) return hashingEmbedder;
  const [, model, dimension] = GEMINI_ID.exec(id) ?? [];
  if (model !== undefined) return geminiEmbedder({ ...options, model, dimension: Number(dimension) });
  throw new StoreError("EMBEDDER_UNKNOWN", { id, known: [hashingEmbedder.id, "gemini-embedding-2-768"] });
}
