import type { GenerateContentConfig, GoogleGenAI, HttpOptions, ThinkingConfig, ThinkingLevel } from "@google/genai";
import { delayInHeaders } from "../failures.ts";
import { type QueuedRequest, RequestQueue } from "../request-queue.ts";
import type { OnUsage } from "../summarizer.ts";
import { loadFailure, modelFailure } from "./failure.ts";
import type { GeminiSettings } from "./options.ts";
import { replyText } from "./reply.ts";
import { usageOf } from "./usage.ts";

export interface Generation {
  /** The instructions, without text from the conversation. */
  system: string;
  /** The texts from the conversation, each message in an element of its own. */
  prompt: string;
  schema: object;
  /** The model's own count. It includes reasoning. */
  outputTokensMax: number;
  signal: AbortSignal;
  onUsage: OnUsage | undefined;
  /** Called right before the request is sent. If it throws, nothing is sent. */
  onSend: (() => void) | undefined;
}

export interface Embedding {
  texts: readonly string[];
  /** Undefined for models without task types. */
  taskType: "RETRIEVAL_DOCUMENT" | "RETRIEVAL_QUERY" | undefined;
  dimension: number;
  signal: AbortSignal;
  onUsage: OnUsage | undefined;
  onSend: (() => void) | undefined;
  /** True if a caller waits for the vectors. */
  isUrgent: boolean;
}

/** Wraps the SDK, which is loaded at the first call because that takes half a second. Nothing is retried. */
export class GeminiClient {
  readonly settings: GeminiSettings;
  #queue: RequestQueue;
  #sdk: Promise<GoogleGenAI> | undefined;

  constructor(settings: GeminiSettings) {
    this.settings = settings;
    this.#queue = new RequestQueue(settings);
  }

  /**
   * Requests one reply and returns its text.
   *
   * @throws the signal's reason if aborted; {StoreError} `MODEL_REFUSED`, `MODEL_UNAVAILABLE`, `MODEL_ANSWER_INVALID`.
   */
  async generate({ system, prompt, schema, outputTokensMax, signal, onUsage, onSend }: Generation): Promise<string> {
    const { model, prices } = this.settings;
    const response = await this.#send({ signal }, async (sdk, http) => {
      onSend?.();
      const reply = await sdk.models.generateContent({
        model,
        contents: [{ role: "user", parts: [{ text: prompt }] }],
        config: {
          ...http,
          systemInstruction: system,
          responseMimeType: "application/json",
          responseJsonSchema: schema,
          maxOutputTokens: outputTokensMax,
          // The temperature keeps its default, because below 1 Gemini 3 may repeat itself endlessly.
          ...thinkingOf(model),
        },
      });
      onUsage?.(usageOf(reply, [system, prompt], prices));
      return reply;
    });
    return replyText(response, model);
  }

  /**
   * Requests embeddings, and returns the SDK's response. Each text is sent as a content of its own, because `gemini-embedding-2`
   * turns a list of strings into one vector. Each counts as a request, because users report that the free tier counts so.
   */
  async embed({ texts, taskType, dimension, signal, onUsage, onSend, isUrgent }: Embedding): Promise<unknown> {
    const { model, prices } = this.settings;
    return this.#send({ signal, count: texts.length, isUrgent }, async (sdk, http) => {
      onSend?.();
      const reply = await sdk.models.embedContent({
        model,
        contents: texts.map((text) => ({ role: "user", parts: [{ text }] })),
        config: { ...http, outputDimensionality: dimension, ...(taskType !== undefined && { taskType }) },
      });
      onUsage?.(usageOf(reply, texts, prices));
      return reply;
    });
  }

  /**
   * Sends one request when its turn has come, and aborts it after `timeoutMs`. The SDK's own timeout would be passed to the
   * server, which refuses short ones. The request gets its own signal, because the SDK never stops listening to a signal.
   */
  async #send<T>(queued: QueuedRequest, request: (sdk: GoogleGenAI, http: Http) => Promise<T>): Promise<T> {
    const { signal } = queued;
    const { timeoutMs } = this.settings;
    signal.throwIfAborted();
    return this.#queue.send(queued, async () => {
      const late = new AbortController();
      const header = new DelayHeader();
      let timer: NodeJS.Timeout | undefined;
      try {
        const sdk = await this.#loaded();
        signal.throwIfAborted();
        // An `AbortSignal.timeout` inside `AbortSignal.any` may be garbage-collected in Node 20. Then the call would never end.
        timer = setTimeout(() => late.abort(), timeoutMs);
        const abortSignal = AbortSignal.any([signal, late.signal]);
        const result = await request(sdk, { abortSignal, httpOptions: header.options(timeoutMs) });
        signal.throwIfAborted();
        return result;
      } catch (error) {
        signal.throwIfAborted();
        throw modelFailure(error, this.settings, header.delayMs);
      } finally {
        clearTimeout(timer);
      }
    });
  }

  #loaded(): Promise<GoogleGenAI> {
    this.#sdk ??= loadSdk(this.settings).catch((error: unknown) => {
      this.#sdk = undefined;
      throw loadFailure(error, this.settings);
    });
    return this.#sdk;
  }
}

type Http = Pick<GenerateContentConfig, "abortSignal" | "httpOptions">;

/** Fetch gives up after five minutes without a byte. The SDK lifts that limit, unless it gets another fetch. */
const FETCH_MS_MAX = 300_000;

/** The delay in the header of a refused request. The SDK's error has no headers. */
class DelayHeader {
  delayMs: number | undefined;

  options(timeoutMs: number): HttpOptions {
    if (timeoutMs > FETCH_MS_MAX) return {};
    return {
      fetch: async (url, init) => {
        const response = await fetch(url, init);
        if (!response.ok) this.delayMs = delayInHeaders(response.headers);
        return response;
      },
    };
  }
}

async function loadSdk({ apiKey, baseUrl }: GeminiSettings): Promise<GoogleGenAI> {
  const { GoogleGenAI: Sdk } = await import("@google/genai");
  // Without `vertexai: false`, environment variables could make the SDK send the key and the text to another service.
  // Version 3 of the SDK would ask `v1`, with which these requests were not tried.
  const httpOptions = { apiVersion: "v1beta", ...(baseUrl !== undefined && { baseUrl }) };
  return new Sdk({ apiKey, vertexai: false, httpOptions });
}

/** Returns the least thinking that a model allows. Thinking costs as much as output, and a summary needs none. */
function thinkingOf(model: string): { thinkingConfig?: ThinkingConfig } {
  if (/\bgemini-2\.5-flash/.test(model)) return { thinkingConfig: { thinkingBudget: 0 } };
  // The SDK's enum is not loaded yet.
  if (/\bgemini-[3-9].*-flash/.test(model)) return { thinkingConfig: { thinkingLevel: "MINIMAL" as ThinkingLevel } };
  return {};
}
