import { once } from "../../core/once.ts";
import { wholeNumber } from "../../core/options.ts";
import { estimateTokens } from "../../core/token-estimate.ts";
import type { EmbedRequest, RemoteEmbedder } from "../embedder.ts";
import { excerpt } from "../lines.ts";
import { checkSimilarityMin } from "../options.ts";
import { promptTextsOf } from "../prompt-text.ts";
import { unitVectors } from "../reply-vectors.ts";
import type { GeminiClient } from "./client.ts";
import { type GeminiOptions, geminiSettings } from "./options.ts";

export interface GeminiEmbedderOptions extends GeminiOptions {
  /** The length of a vector: 128 to 3,072. Default: 768. Google recommends 768, 1,536 and 3,072. */
  dimension?: number;
  /**
   * The cosine from which a step may join a cluster, in [-1, 1). Default: 0.75.
   *
   * The default was not calibrated with Gemini. It lies between cosines that users published in 2026, each for one corpus: 0.58
   * to 0.74 for unrelated texts, mostly near 0.62, and 0.76 to 0.93 for related ones. With unrelated texts at 0.62, a threshold
   * of 0.65 put two thirds of a conversation into one cluster, and a threshold of 0.75 an eighth.
   */
  similarityMin?: number;
}

const TEXTS_MAX = 100;
/** Two thirds of the free tier's limit for a minute, in estimated tokens. A larger request never succeeds. */
const REQUEST_TOKENS_MAX = 20_000;

/** `gemini-embedding-001` reads 2,048 tokens of a text. This leaves room for the error of the estimate, up to a quarter. */
const TEXT_TOKENS_MAX = 1_500;

/** Models that take the task as a parameter. Later models read the task from a prefix of the text. */
const HAS_TASK_TYPES = /\bgemini-embedding-001\b/;
const TASK_TYPE = { document: "RETRIEVAL_DOCUMENT", query: "RETRIEVAL_QUERY" } as const;
/** Google documents these prefixes for `gemini-embedding-2`. Other prefixes would give other vectors and need another id. */
const TASK_PREFIX = { document: "title: none | text: ", query: "task: search result | query: " };

/**
 * Creates an embedder that uses Gemini, by default `gemini-embedding-2`. Texts with similar meaning get similar vectors.
 *
 * The texts of messages and queries leave the machine. Each passes through `redact`, and is cut to its beginning and end: 8,000
 * characters, for `gemini-embedding-001` about 1,500 tokens. Many texts are sent in several requests, one after another. Nothing
 * is retried here. Queries are sent before waiting documents.
 *
 * @throws {StoreError} `MODEL_REFUSED`, `OPTION_INVALID`. `embedAll` rejects with the signal's reason if aborted; with
 *   `MODEL_REFUSED` if another try is useless; with `MODEL_UNAVAILABLE`, and `retryAfterMs` if the service names a delay; with
 *   `MODEL_ANSWER_INVALID`; or with `REDACT_FAILED`. No error contains the key.
 */
export function geminiEmbedder(options: GeminiEmbedderOptions = {}): RemoteEmbedder {
  const { dimension = 768, similarityMin = 0.75, ...shared } = options;
  wholeNumber("dimension", dimension, 128, 3_072);
  checkSimilarityMin(similarityMin);
  const settings = geminiSettings(shared, "gemini-embedding-2");
  const { prices, requestsPerMinute = TEXTS_MAX } = settings;
  // The client is imported late, because most programs never use Gemini.
  const client = once(async () => {
    const { GeminiClient: Client } = await import("./client.ts");
    return new Client(settings);
  });
  // A request with more texts than the limit for a minute could never be sent.
  const textsMax = Math.min(TEXTS_MAX, requestsPerMinute);
  return {
    id: `${settings.model}-${dimension}`,
    dimension,
    similarityMin,
    textsMax,
    sentTo: new URL(settings.baseUrl ?? "https://generativelanguage.googleapis.com").host,
    ...(prices !== undefined && { usdPerMillionTokens: prices.input }),
    embedAll: async (request) => embedAll(request, await client(), dimension, textsMax),
  };
}

async function embedAll(
  { texts, task, signal, onUsage, onSend }: EmbedRequest,
  client: GeminiClient,
  dimension: number,
  textsMax: number,
): Promise<Float32Array[]> {
  const { model, redact } = client.settings;
  const taskType = HAS_TASK_TYPES.test(model) ? TASK_TYPE[task] : undefined;
  const clean = await promptTextsOf(texts, redact, signal);
  const sent = clean.map((text) => (taskType === undefined ? TASK_PREFIX[task] + text : shortened(text)));
  const vectors: Float32Array[] = [];
  for (const batch of batchesOf(sent, textsMax)) {
    const isUrgent = task === "query";
    const response = await client.embed({ texts: batch, taskType, dimension, signal, onUsage, onSend, isUrgent });
    vectors.push(...replyVectors(response, batch.length, dimension, model));
  }
  return vectors;
}

function shortened(text: string): string {
  const tokens = estimateTokens(text);
  return tokens <= TEXT_TOKENS_MAX ? text : excerpt(text, Math.floor((text.length * TEXT_TOKENS_MAX) / tokens));
}

function batchesOf(texts: readonly string[], textsMax: number): string[][] {
  const batches: string[][] = [];
  let batchTokens = 0;
  for (const text of texts) {
    const tokens = estimateTokens(text);
    const batch = batches.at(-1);
    if (batch === undefined || batch.length === textsMax || batchTokens + tokens > REQUEST_TOKENS_MAX) {
      batches.push([text]);
      batchTokens = tokens;
    } else {
      batch.push(text);
      batchTokens += tokens;
    }
  }
  return batches;
}

/** Returns the vectors of a reply of any shape. Shortened vectors of `gemini-embedding-001` must be normalized. */
function replyVectors(response: unknown, count: number, dimension: number, model: string): Float32Array[] {
  const { embeddings } = (response ?? {}) as { embeddings?: unknown };
  const values = Array.isArray(embeddings)
    ? embeddings.map((one: { values?: unknown } | null) => one?.values)
    : undefined;
  return unitVectors(values, count, dimension, model);
}
