import { estimateTokens } from "../../core/token-estimate.ts";
import type { EmbedRequest, RemoteEmbedder } from "../embedder.ts";
import { excerpt } from "../excerpt.ts";
import { promptText } from "../prompt-text.ts";
import { Pace } from "../source-reader.ts";
import { GeminiClient } from "./client.ts";
import { KeptVectors } from "./kept-vectors.ts";
import { checkWhole, type GeminiOptions, geminiSettings, invalid } from "./options.ts";
import { replyVectors } from "./vectors.ts";

export interface GeminiEmbedderOptions extends GeminiOptions {
  /** Length of a vector, from 128 to 3,072; 768, unless told otherwise. Google recommends 768, 1,536 and 3,072. */
  dimension?: number;
  /**
   * Cosine from which a step may join a cluster, in [-1, 1); 0.75, unless told otherwise.
   *
   * It was not calibrated with vectors of Gemini, but chosen between what users of both models have published of theirs (2026,
   * few, each on one corpus): texts on different subjects at 0.58 to 0.74, most near 0.62; on one subject at 0.76 to 0.93.
   * It matters: where unrelated texts are at 0.62, 0.65 put two thirds of a conversation into one cluster, 0.75 an eighth.
   */
  similarityMin?: number;
}

const MODEL = "gemini-embedding-2";
const DIMENSION = 768;
const DIMENSION_MIN = 128;
const DIMENSION_MAX = 3_072;
const SIMILARITY_MIN = 0.75;

/** What the service takes in one request. */
const TEXTS_MAX = 100;
/** By our estimate: two thirds of what the free tier allows in a minute, since a request beyond that could never succeed. */
const REQUEST_TOKENS_MAX = 20_000;

/** Of one text, by our estimate: well below the 2,048 tokens that `gemini-embedding-001` reads, as it may be off by a quarter. */
const TEXT_TOKENS_MAX = 1_500;

/** The models that are told the task beside the text; later ones read it in front of it. */
const HAS_TASK_TYPES = /\bgemini-embedding-001\b/;
const TASK_TYPE = { document: "RETRIEVAL_DOCUMENT", query: "RETRIEVAL_QUERY" } as const;
/** The words that Google's page on embeddings gives for `gemini-embedding-2`. Others would make other vectors, and need another id. */
const TASK_PREFIX = { document: "title: none | text: ", query: "task: search result | query: " };

/**
 * Vectors by Gemini (`gemini-embedding-2`, unless told otherwise): texts are near when they mean the same, whatever their words.
 *
 * What leaves the machine are texts of messages and queries, each passed through `redact` and cut to 8,000 characters from its
 * beginning and end, for `gemini-embedding-001` to about 1,500 tokens of these: what the models read. Long texts are sent in
 * several requests, one after another. Nothing is tried again here, but what a failed call had paid for is kept for the next one
 * with the same texts. Queries go before documents that wait.
 *
 * @throws {StoreError} at once: `MODEL_KEY_MISSING`, `OPTION_INVALID`. `embedAll` rejects with the signal's reason once that is
 *   aborted; else with `MODEL_REFUSED`, where the same request would be refused again; `MODEL_UNAVAILABLE`, with
 *   `retryAfterMs` where the service says how long to wait; `MODEL_ANSWER_INVALID`; `REDACT_FAILED`. No error holds the key.
 */
export function geminiEmbedder(options: GeminiEmbedderOptions = {}): RemoteEmbedder {
  const { dimension = DIMENSION, similarityMin = SIMILARITY_MIN, ...shared } = options;
  checkWhole("dimension", dimension, DIMENSION_MAX, DIMENSION_MIN);
  const isCosine = typeof similarityMin === "number" && similarityMin >= -1 && similarityMin < 1;
  if (!isCosine) throw invalid("similarityMin", "a cosine below 1", similarityMin);
  const client = new GeminiClient(geminiSettings(shared, MODEL));
  const { prices, requestsPerMinute = TEXTS_MAX } = client.settings;
  // More than a minute allows could never be sent in one.
  const textsMax = Math.min(TEXTS_MAX, requestsPerMinute);
  const kept = new KeptVectors();
  return {
    id: `${client.settings.model}-${dimension}`,
    dimension,
    similarityMin,
    textsMax,
    ...(prices !== undefined && { usdPerMillionTokens: prices.input }),
    embedAll: (request) => embedAll(request, client, { dimension, textsMax, kept }),
  };
}

async function embedAll(
  { texts, task, signal, onUsage }: EmbedRequest,
  client: GeminiClient,
  { dimension, textsMax, kept }: { dimension: number; textsMax: number; kept: KeptVectors },
): Promise<Float32Array[]> {
  const { model, redact } = client.settings;
  const taskType = HAS_TASK_TYPES.test(model) ? TASK_TYPE[task] : undefined;
  const pace = new Pace(signal);
  const sent: string[] = [];
  for (const text of texts) {
    // Nothing may be left of a text, and a service may refuse a whole batch for an empty one.
    const clean = promptText(text, redact).trim() || "…";
    sent.push(taskType === undefined ? TASK_PREFIX[task] + clean : shortened(clean));
    await pace.worked(text.length);
  }

  const vectors = sent.map((text) => kept.take(task + text));
  try {
    for (const batch of batchesOf(sent, (index) => vectors[index] === undefined, textsMax)) {
      const batchTexts = batch.map((index) => sent[index]!);
      const isUrgent = task === "query";
      const response = await client.embed({ texts: batchTexts, taskType, dimension, signal, onUsage, isUrgent });
      const found = replyVectors(response, batch.length, dimension, model);
      for (const [place, index] of batch.entries()) vectors[index] = found[place];
    }
  } catch (error) {
    for (const [index, vector] of vectors.entries()) if (vector !== undefined) kept.keep(task + sent[index], vector);
    throw error;
  }
  return vectors as Float32Array[];
}

/** To what a model reads that reads less than 8,000 characters may have. */
function shortened(text: string): string {
  const tokens = estimateTokens(text);
  return tokens <= TEXT_TOKENS_MAX ? text : excerpt(text, Math.floor((text.length * TEXT_TOKENS_MAX) / tokens));
}

/** In their order, the places of the texts that are to be sent, as many in a batch as one request takes. */
function batchesOf(texts: readonly string[], isDue: (index: number) => boolean, textsMax: number): number[][] {
  const batches: number[][] = [];
  let batchTokens = 0;
  for (const [index, text] of texts.entries()) {
    if (!isDue(index)) continue;
    const tokens = estimateTokens(text);
    const batch = batches.at(-1);
    if (batch === undefined || batch.length === textsMax || batchTokens + tokens > REQUEST_TOKENS_MAX) {
      batches.push([index]);
      batchTokens = tokens;
    } else {
      batch.push(index);
      batchTokens += tokens;
    }
  }
  return batches;
}
