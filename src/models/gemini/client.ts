import type { GoogleGenAI, ThinkingConfig, ThinkingLevel } from "@google/genai";
import type { OnUsage } from "../usage.ts";
import { loadFailure, modelFailure } from "./failure.ts";
import type { GeminiSettings } from "./options.ts";
import { replyText } from "./reply.ts";
import { type QueuedRequest, RequestQueue } from "./request-queue.ts";
import { usageOf } from "./usage.ts";

export interface Generation {
  /** The instructions, which contain no foreign text. */
  system: string;
  /** The foreign text, each message in an element of its own. */
  prompt: string;
  /** JSON Schema of the answer. */
  schema: object;
  /** The most tokens of the reply including reasoning, by the model's count. */
  outputTokensMax: number;
  signal: AbortSignal;
  onUsage: OnUsage | undefined;
}

export interface Embedding {
  texts: readonly string[];
  /** Undefined for models without task types. */
  taskType: "RETRIEVAL_DOCUMENT" | "RETRIEVAL_QUERY" | undefined;
  dimension: number;
  signal: AbortSignal;
  onUsage: OnUsage | undefined;
  /** True if a caller waits for the vectors. */
  isUrgent: boolean;
}

/** Wraps the SDK, which is loaded at the first call because that takes half a second. Each call is one request, without retries. */
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
   * @throws the signal's reason once it is aborted; else {StoreError} `MODEL_REFUSED`, `MODEL_UNAVAILABLE`,
   *   `MODEL_ANSWER_INVALID`.
   */
  async generate({ system, prompt, schema, outputTokensMax, signal, onUsage }: Generation): Promise<string> {
    const { model, prices } = this.settings;
    const response = await this.call({ signal }, async (sdk, abortSignal) => {
      const reply = await sdk.models.generateContent({
        model,
        contents: [{ role: "user", parts: [{ text: prompt }] }],
        config: {
          abortSignal,
          systemInstruction: system,
          responseMimeType: "application/json",
          responseJsonSchema: schema,
          maxOutputTokens: outputTokensMax,
          // Temperature keeps its default: below 1, Gemini 3 may repeat itself endlessly.
          ...thinkingOf(model),
        },
      });
      onUsage?.(usageOf(reply, [system, prompt], prices));
      return reply;
    });
    return replyText(response, model);
  }

  /**
   * Streams a reply as chunks of any shape. `timeoutMs` limits the wait for each chunk, without the reader's own time. When
   * the reader stops, the connection is closed.
   *
   * @throws the signal's reason once it is aborted; else {StoreError} as `generate`.
   */
  async *stream(parameters: StreamParameters, signal: AbortSignal): AsyncGenerator<unknown> {
    signal.throwIfAborted();
    const { model, timeoutMs } = this.settings;
    const sdk = await this.#loaded(signal);
    const controller = new AbortController();
    const stop = (): void => controller.abort();
    let timer = setTimeout(stop, timeoutMs);
    signal.addEventListener("abort", stop);
    try {
      const config = { ...parameters.config, abortSignal: controller.signal };
      for await (const piece of await sdk.models.generateContentStream({ ...parameters, model, config })) {
        clearTimeout(timer);
        signal.throwIfAborted();
        yield piece;
        timer = setTimeout(stop, timeoutMs);
      }
      signal.throwIfAborted();
    } catch (error) {
      signal.throwIfAborted();
      throw modelFailure(error, this.settings);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      controller.abort();
    }
  }

  /**
   * Requests embeddings, and returns the SDK's response of any shape: normally one vector for each text.
   *
   * Each text is sent as a content of its own, because `gemini-embedding-2` makes a single vector of a list of strings. Each
   * text counts as a request, because users report that the free tier counts so.
   */
  async embed({ texts, taskType, dimension, signal, onUsage, isUrgent }: Embedding): Promise<unknown> {
    const { model, prices } = this.settings;
    return this.call({ signal, count: texts.length, isUrgent }, async (sdk, abortSignal) => {
      const reply = await sdk.models.embedContent({
        model,
        contents: texts.map((text) => ({ role: "user", parts: [{ text }] })),
        config: { abortSignal, outputDimensionality: dimension, ...(taskType !== undefined && { taskType }) },
      });
      onUsage?.(usageOf(reply, texts, prices));
      return reply;
    });
  }

  /**
   * Sends one request when it is its turn. The request is aborted by the signal, or after `timeoutMs`.
   *
   * @param request  Its signal is aborted by the caller's abort and by the timeout.
   * @throws the signal's reason once it is aborted, even while waiting; {StoreError} as `modelFailure` says, and
   *   `MODEL_UNAVAILABLE`, without sending anything, until the time that the service named.
   */
  async call<T>(
    queued: QueuedRequest,
    request: (sdk: GoogleGenAI, abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    queued.signal.throwIfAborted();
    return this.#queue.send(queued, () => this.#send(queued.signal, request));
  }

  /**
   * The SDK's own timeout is passed to the server, which refuses short ones, so the timer is ours. The SDK never stops
   * listening to a signal, so each request gets a new one.
   */
  async #send<T>(signal: AbortSignal, request: (sdk: GoogleGenAI, abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    const sdk = await this.#loaded(signal);
    const controller = new AbortController();
    const stop = (): void => controller.abort();
    const timer = setTimeout(stop, this.settings.timeoutMs);
    signal.addEventListener("abort", stop);
    try {
      const result = await request(sdk, controller.signal);
      signal.throwIfAborted();
      return result;
    } catch (error) {
      signal.throwIfAborted();
      throw modelFailure(error, this.settings);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /** Loads the SDK. A failed load is forgotten, so that the next call tries again. */
  async #loaded(signal: AbortSignal): Promise<GoogleGenAI> {
    const loading = this.#sdk ?? loadSdk(this.settings);
    this.#sdk = loading;
    try {
      return await loading;
    } catch (error) {
      if (this.#sdk === loading) this.#sdk = undefined;
      throw loadFailure(error, this.settings);
    } finally {
      signal.throwIfAborted();
    }
  }
}

/** The parameters of a streamed request without the model, which the client adds. */
export type StreamParameters = Omit<Parameters<GoogleGenAI["models"]["generateContentStream"]>[0], "model">;

async function loadSdk({ apiKey, baseUrl }: GeminiSettings): Promise<GoogleGenAI> {
  const { GoogleGenAI: Sdk } = await import("@google/genai");
  // Without `vertexai: false`, environment variables could send the key and the text to another service.
  return new Sdk({ apiKey, vertexai: false, httpOptions: baseUrl === undefined ? {} : { baseUrl } });
}

/** Returns the least thinking that a model allows: it costs as much as output, and a summary needs none. */
function thinkingOf(model: string): { thinkingConfig?: ThinkingConfig } {
  if (/\bgemini-2\.5-flash/.test(model)) return { thinkingConfig: { thinkingBudget: 0 } };
  // The SDK's enum is not loaded yet.
  if (/\bgemini-[3-9].*-flash/.test(model)) return { thinkingConfig: { thinkingLevel: "MINIMAL" as ThinkingLevel } };
  return {};
}
