import { createHash } from "node:crypto";
import { invalid } from "../options.ts";

/** A server whose address and key are known. */
export interface KnownServer {
  baseUrl: string;
  /** The environment variable with the key; undefined for servers on this machine. */
  keyVariable?: string;
  /** True for a server that refuses `encoding_format: "float"`. It sends the vectors as numbers anyway. */
  refusesFormat?: true;
}

/** The servers that can be named: `ollama:nomic-embed-text`. All of them speak OpenAI's API for embeddings. */
export const SERVERS: Readonly<Record<string, KnownServer>> = {
  ollama: { baseUrl: "http://127.0.0.1:11434/v1" },
  lmstudio: { baseUrl: "http://127.0.0.1:1234/v1" },
  llamacpp: { baseUrl: "http://127.0.0.1:8080/v1" },
  vllm: { baseUrl: "http://127.0.0.1:8000/v1" },
  openai: { baseUrl: "https://api.openai.com/v1", keyVariable: "OPENAI_API_KEY" },
  voyage: { baseUrl: "https://api.voyageai.com/v1", keyVariable: "VOYAGE_API_KEY", refusesFormat: true },
  mistral: { baseUrl: "https://api.mistral.ai/v1", keyVariable: "MISTRAL_API_KEY" },
};

/** The words that a model expects before a text. */
export interface EmbeddingPrefix {
  query: string;
  document: string;
}

export const NO_PREFIX: EmbeddingPrefix = { query: "", document: "" };

/** The dimensions and prefixes that the makers of models document. The first entry that matches a model's name is used. */
const MODELS: readonly { name: RegExp; dimension?: number; prefix?: EmbeddingPrefix }[] = [
  { name: /nomic-embed-text/, dimension: 768, prefix: { query: "search_query: ", document: "search_document: " } },
  {
    name: /embeddinggemma/,
    dimension: 768,
    prefix: { query: "task: search result | query: ", document: "title: none | text: " },
  },
  {
    name: /mxbai-embed-large/,
    dimension: 1_024,
    prefix: { query: "Represent this sentence for searching relevant passages: ", document: "" },
  },
  { name: /multilingual-e5-small|e5-small/, dimension: 384, prefix: { query: "query: ", document: "passage: " } },
  { name: /multilingual-e5-base|e5-base/, dimension: 768, prefix: { query: "query: ", document: "passage: " } },
  { name: /multilingual-e5-large|e5-large/, dimension: 1_024, prefix: { query: "query: ", document: "passage: " } },
  { name: /all-minilm/i, dimension: 384 },
  { name: /bge-m3/, dimension: 1_024 },
  { name: /text-embedding-3-small|text-embedding-ada-002/, dimension: 1_536 },
  { name: /text-embedding-3-large/, dimension: 3_072 },
  { name: /mistral-embed/, dimension: 1_024 },
  { name: /voyage-3/, dimension: 1_024 },
];

/** Returns a model's own dimension and prefixes, if they are known. */
export function knownModel(model: string): { dimension?: number; prefix: EmbeddingPrefix } {
  const { dimension, prefix = NO_PREFIX } = MODELS.find(({ name }) => name.test(model)) ?? {};
  return { ...(dimension !== undefined && { dimension }), prefix };
}

/**
 * Returns the prefixes to use: those given, else those that are known for the model.
 *
 * @throws {StoreError} `OPTION_INVALID` if a prefix is not a text.
 */
export function prefixOf(model: string, given: Partial<EmbeddingPrefix> = {}): EmbeddingPrefix {
  const known = knownModel(model).prefix;
  const isText = (value: unknown): boolean => value === undefined || typeof value === "string";
  const isUsable = typeof given === "object" && given !== null && isText(given.query) && isText(given.document);
  if (!isUsable) throw invalid("prefix", "an object with the texts query and document, or one of them", given);
  return { query: given.query ?? known.query, document: given.document ?? known.document };
}

/** Returns true for an address of this machine. What is sent there does not leave it. */
export function isLoopback(baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/** Returns the part of an id that identifies the prefixes; "" for the prefixes that are known for the model. */
export function prefixName(prefix: EmbeddingPrefix, model: string): string {
  const known = knownModel(model).prefix;
  if (prefix.query === known.query && prefix.document === known.document) return "";
  return `+${createHash("sha256")
    .update(JSON.stringify([prefix.query, prefix.document]))
    .digest("hex")
    .slice(0, 8)}`;
}
