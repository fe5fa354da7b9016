import { StoreError } from "../../core/errors.ts";
import { once } from "../../core/once.ts";
import { wholeNumber } from "../../core/options.ts";
import { estimateTokens } from "../../core/token-estimate.ts";
import type { EmbedRequest, RemoteEmbedder } from "../embedder.ts";
import { checkBaseUrl, checkedKey, checkRequestOptions, checkSimilarityMin, invalid } from "../options.ts";
import { promptTextsOf, type Redact } from "../prompt-text.ts";
import { unitVectors } from "../reply-vectors.ts";
import type { RequestQueue } from "../request-queue.ts";
import { type Endpoint, requestJson } from "./request.ts";
import { type EmbeddingPrefix, isLoopback, knownModel, prefixName, prefixOf, SERVERS } from "./servers.ts";

export interface OpenaiEmbedderOptions {
  /** The address of the API up to `/v1`, such as `http://127.0.0.1:11434/v1` for Ollama. Default: OpenAI's. */
  baseUrl?: string;
  /** The name of the model at that server. */
  model: string;
  /** The length of a vector: 2 to 8,192. Default: the model's own, if Coppice knows it. */
  dimension?: number;
  /** Words that the model expects before a text. Default: those that the model's makers document, if Coppice knows them. */
  prefix?: Partial<EmbeddingPrefix>;
  /** Default: the server's environment variable, such as `OPENAI_API_KEY`. A server on this machine needs no key. */
  apiKey?: string;
  /** The cosine from which a step may join a cluster, in [-1, 1). Default: 0.7. `reembed --dry-run` shows a measured one. */
  similarityMin?: number;
  /** The most texts in one request: 1 to 2,048. Default: 64. */
  textsMax?: number;
  /** The time limit of one request in milliseconds: 1 to 3,600,000. Default: 60,000. */
  timeoutMs?: number;
  /** The most concurrent requests: 1 to 1,000. Default: 4. Others wait, and an abort ends the wait. */
  concurrency?: number;
  /** The most requests in any 60 seconds: 1 to 1,000,000. Default: no limit. Others wait. */
  requestsPerMinute?: number;
  /** US dollars per million tokens. Default: 0 for a server on this machine, otherwise unknown. */
  usdPerMillionTokens?: number;
  /** Gets each text before it is sent, and returns the text to send. It must be synchronous. */
  redact?: Redact;
}

/** Models that shorten their vectors on request. */
const SHORTENS = /text-embedding-3/;

/** The characters of a model's name. */
const MODEL_NAME = /^[\w@./:+-]{1,200}$/;

/**
 * Creates an embedder that uses a server with OpenAI's API for embeddings: Ollama, LM Studio, llama.cpp, vLLM, OpenAI, Voyage,
 * Mistral and others.
 *
 * The texts of messages and queries are sent to the server. If it is not on this machine, they leave the machine. Each passes
 * through `redact`, and is cut to its beginning and end, 8,000 characters. Nothing is retried here. Queries are sent before
 * waiting documents.
 *
 * @throws {StoreError} `MODEL_REFUSED`, `OPTION_INVALID`. `embedAll` rejects with the signal's reason if aborted; with
 *   `MODEL_REFUSED` if another try is useless; with `MODEL_UNAVAILABLE`, and `retryAfterMs` if the server names a delay; with
 *   `MODEL_ANSWER_INVALID`; or with `REDACT_FAILED`. No error contains the key.
 */
export function openaiEmbedder(options: OpenaiEmbedderOptions): RemoteEmbedder {
  const { model, timeoutMs = 60_000, textsMax = 64, concurrency = 4, requestsPerMinute, redact } = options;
  const { baseUrl: address = SERVERS.openai!.baseUrl, similarityMin = 0.7 } = options;
  if (typeof model !== "string" || !MODEL_NAME.test(model)) {
    throw invalid("model", "the name of a model, such as nomic-embed-text", model);
  }
  checkBaseUrl(address);
  const baseUrl = address.replace(/\/+$/, "");
  const known = knownModel(model);
  const { dimension = known.dimension } = options;
  wholeNumber("dimension", dimension as number, 2, 8_192);
  wholeNumber("textsMax", textsMax, 1, 2_048);
  checkRequestOptions({ timeoutMs, concurrency, requestsPerMinute, redact });
  checkSimilarityMin(similarityMin);
  const prefix = prefixOf(model, options.prefix);
  const endpoint: Endpoint = { url: `${baseUrl}/embeddings`, model, timeoutMs, apiKey: keyOf(options, baseUrl) };
  const { usdPerMillionTokens = isLoopback(baseUrl) ? 0 : undefined } = options;
  if (usdPerMillionTokens !== undefined && !(Number.isFinite(usdPerMillionTokens) && usdPerMillionTokens >= 0)) {
    throw invalid("usdPerMillionTokens", "a number from 0", usdPerMillionTokens);
  }
  // The queue is imported late, because most programs never use it.
  const queue = once(async (): Promise<RequestQueue> => {
    const { RequestQueue: Queue } = await import("../request-queue.ts");
    return new Queue({ concurrency, requestsPerMinute });
  });
  const isRefused = Object.values(SERVERS).some((known) => known.baseUrl === baseUrl && known.refusesFormat);
  const format = isRefused ? {} : { encoding_format: "float" };
  const shortened = SHORTENS.test(model) && dimension !== known.dimension ? { dimensions: dimension } : {};

  async function embedBatch(texts: readonly string[], request: EmbedRequest): Promise<Float32Array[]> {
    const { signal, task, onSend, onUsage } = request;
    const requests = await queue();
    return requests.send({ signal, isUrgent: task === "query" }, async () => {
      onSend?.();
      const body = { model, input: texts, ...format, ...shortened };
      const reply = await requestJson(endpoint, body, signal);
      const inputTokens = tokensIn(reply) ?? texts.reduce((sum, text) => sum + estimateTokens(text), 0);
      const cost = usdPerMillionTokens === undefined ? {} : { costUsd: (inputTokens / 1e6) * usdPerMillionTokens };
      onUsage?.({ inputTokens, outputTokens: 0, ...cost });
      return unitVectors(valuesIn(reply), texts.length, dimension as number, model);
    });
  }

  return {
    id: openaiEmbedderId(baseUrl, model, dimension as number, prefix),
    dimension: dimension as number,
    similarityMin,
    textsMax,
    ...(usdPerMillionTokens !== undefined && { usdPerMillionTokens }),
    ...(!isLoopback(baseUrl) && { sentTo: new URL(baseUrl).host }),
    async embedAll(request) {
      const { texts, task, signal } = request;
      const sent = (await promptTextsOf(texts, redact, signal)).map((text) => prefix[task] + text);
      const vectors: Float32Array[] = [];
      for (let from = 0; from < sent.length; from += textsMax) {
        vectors.push(...(await embedBatch(sent.slice(from, from + textsMax), request)));
      }
      return vectors;
    },
  };
}

/** Returns the options of the embedder with this id, if `openaiEmbedder` made it with known prefixes. */
export function openaiOptionsOf(id: string): (OpenaiEmbedderOptions & { dimension: number }) | undefined {
  const [, server, atServer, atServerDimension] = /^([a-z]+):(.+)-(\d+)$/.exec(id) ?? [];
  const known = server === undefined ? undefined : SERVERS[server];
  if (known !== undefined) return { baseUrl: known.baseUrl, model: atServer!, dimension: Number(atServerDimension) };
  const [, model, dimension, baseUrl] = /^(.+)-(\d+)@(https?:\/\/.+)$/.exec(id) ?? [];
  return model === undefined ? undefined : { baseUrl: baseUrl!, model, dimension: Number(dimension) };
}

/** Returns an id with everything that changes a vector: server, model, dimension, and prefixes that are not the model's own. */
function openaiEmbedderId(baseUrl: string, model: string, dimension: number, prefix: EmbeddingPrefix): string {
  const [server] = Object.entries(SERVERS).find(([, known]) => known.baseUrl === baseUrl) ?? [];
  const name = `${model}${prefixName(prefix, model)}-${dimension}`;
  return server === undefined ? `${name}@${baseUrl}` : `${server}:${name}`;
}

function keyOf({ apiKey, model }: OpenaiEmbedderOptions, baseUrl: string): string | undefined {
  const { keyVariable } = Object.values(SERVERS).find((known) => known.baseUrl === baseUrl) ?? {};
  const given: unknown = apiKey ?? (keyVariable === undefined ? undefined : process.env[keyVariable]);
  const key = checkedKey(given);
  if (key === undefined && !isLoopback(baseUrl)) {
    const variable = keyVariable === undefined ? {} : { variable: keyVariable };
    throw new StoreError("MODEL_REFUSED", { model, concerns: "key", ...variable });
  }
  return key;
}

/** Returns the vectors of a reply of any shape, in the order of the texts. */
function valuesIn(reply: unknown): unknown[] | undefined {
  const { data } = (reply ?? {}) as { data?: unknown };
  if (!Array.isArray(data)) return undefined;
  const values: unknown[] = [];
  for (const [place, entry] of data.entries()) {
    const { index = place, embedding } = (entry ?? {}) as { index?: unknown; embedding?: unknown };
    values[Number.isInteger(index) ? (index as number) : place] = embedding;
  }
  return Array.from(values.slice(0, data.length));
}

function tokensIn(reply: unknown): number | undefined {
  const { usage } = (reply ?? {}) as { usage?: { prompt_tokens?: unknown; total_tokens?: unknown } | null };
  const tokens = usage?.prompt_tokens ?? usage?.total_tokens;
  return typeof tokens === "number" && tokens > 0 && tokens < Number.POSITIVE_INFINITY ? tokens : undefined;
}
