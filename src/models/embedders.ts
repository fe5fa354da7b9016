import { StoreError } from "../core/errors.ts";
import type { Embedder } from "./embedder.ts";
import { geminiEmbedder } from "./gemini/embedder.ts";
import { hashingEmbedder } from "./hashing-embedder.ts";
import { openaiEmbedder, openaiOptionsOf } from "./openai/embedder.ts";
import { staticEmbedder } from "./static/embedder.ts";

const GEMINI_ID = /^(gemini-embedding-.+)-(\d+)$/;

/**
 * Returns the embedder with an id, such as `gemini-embedding-2-768` or `ollama:nomic-embed-text-768`. A static model is read from the
 * folder in `COPPICE_STATIC_MODEL`.
 *
 * @throws {StoreError} `MODEL_REFUSED`, `OPTION_INVALID`.
 */
export function embedderById(id: string, options: { apiKey?: string } = {}): Embedder {
  if (id === hashingEmbedder.id) return hashingEmbedder;
  const [, model, dimension] = GEMINI_ID.exec(id) ?? [];
  if (model !== undefined) return geminiEmbedder({ ...options, model, dimension: Number(dimension) });
  const openai = openaiOptionsOf(id);
  if (openai !== undefined) {
    const embedder = openaiEmbedder({ ...options, ...openai });
    // An id with a hash of other prefixes does not say what the prefixes are, so its embedder cannot be made here.
    if (embedder.id === id) return embedder;
  }
  const folder = process.env.COPPICE_STATIC_MODEL;
  if (id.startsWith("static:") && folder) {
    const embedder = staticEmbedder({ folder });
    if (embedder.id === id) return embedder;
  }
  const examples = `${hashingEmbedder.id}, gemini-embedding-2-768 and ollama:nomic-embed-text-768`;
  const fix = `Examples are ${examples}. Models and dimensions may differ. Programs can pass any other embedder as an object.`;
  throw new StoreError("OPTION_INVALID", { option: "the embedder", expected: "one that Coppice has", actual: id, fix });
}
