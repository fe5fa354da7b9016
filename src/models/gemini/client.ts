import type { GoogleGenAI, ThinkingConfig, ThinkingLevel } from "@google/genai";
import type { OnUsage } from "../usage.ts";
import { failureOf, loadFailureOf } from "./failure.ts";
import type { GeminiSettings } from "./options.ts";
import { replyText } from "./reply.ts";
import { type Turn, Turns } from "./turns.ts";
import { usageOf } from "./usage.ts";

export interface Generation {
  /** What is to be done: ours alone. */
  system: string;
  /** What it is to be done with: other people's text, each in an element of its own. */
  prompt: string;
  /** JSON Schema of the answer. */
  schema: object;
  /** Most tokens of the reply, thoughts included, by the model's own count. */
  outputTokensMax: number;
  signal: AbortSignal;
  onUsage: OnUsage | undefined;
}

export interface Embedding {
  texts: readonly string[];
  /** Only where the model knows them. */
  taskType: "RETRIEVAL_DOCUMENT" | "RETRIEVAL_QUERY" | undefined;
  dimension: number;
  signal: AbortSignal;
  onUsage: OnUsage | undefined;
  /** Somebody waits for it. */
  isUrgent: boolean;
}

/** The SDK, loaded at the first call: that takes half a second. It is given no retries, so each call is one request. */
export class GeminiClient {
  readonly settings: GeminiSettings;
  #turns: Turns;
  #sdk: Promise<GoogleGenAI> | undefined;

  constructor(settings: GeminiSettings) {
    this.settings = settings;
    this.#turns = new Turns(settings);
  }

  /**
   * The text of one reply.
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
          // Temperature stays the model's own: with less than 1, Gemini 3 is known to repeat itself without end.
          ...thinkingOf(model),
        },
      });
      onUsage?.(usageOf(reply, [system, prompt], prices));
      return reply;
    });
    return replyText(response, model);
  }

  /**
   * A reply in the pieces in which it comes, of any shape. `timeoutMs` is the longest wait for the first of them and for each
   * next one; the time that the reader takes does not count. Where the reader stops, the connection is given up.
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
      throw failureOf(error, this.settings);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
      controller.abort();
    }
  }

  /**
   * What the SDK gives for one request to embed, of any shape: one vector for each text, if all is well.
   *
   * Each text is a content of its own: `gemini-embedding-2` makes one vector of a list of strings. The service counts each as
   * a request (so in its free tier, as users report), and so do we.
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
   * One request in its turn. It ends by itself, with the signal, or after `timeoutMs`.
   *
   * @param request  Told of the abort and of the timeout by its signal.
   * @throws the signal's reason at once when it is aborted, also while it waits; else {StoreError} as `failureOf` says, and
   *   `MODEL_UNAVAILABLE` without a request until the time at which the service said to come again.
   */
  async call<T>(turn: Turn, request: (sdk: GoogleGenAI, abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    turn.signal.throwIfAborted();
    return this.#turns.take(turn, () => this.#send(turn.signal, request));
  }

  /**
   * The SDK has a timeout of its own, but passes it on to the server, which has its own opinion of short ones; and it never
   * lets go of a signal that it listens to, so it gets a new one each time.
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
      throw failureOf(error, this.settings);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", stop);
    }
  }

  /** A load that failed is forgotten, so that the next call tries again. */
  async #loaded(signal: AbortSignal): Promise<GoogleGenAI> {
    const loading = this.#sdk ?? loadSdk(this.settings);
    this.#sdk = loading;
    try {
      return await loading;
    } catch (error) {
      if (this.#sdk === loading) this.#sdk = undefined;
      throw loadFailureOf(error, this.settings);
    } finally {
      signal.throwIfAborted();
    }
  }
}

/** Of a request to `streamGenerateContent`: the model and the signals are the client's. */
export type StreamParameters = Omit<Parameters<GoogleGenAI["models"]["generateContentStream"]>[0], "model">;

async function loadSdk({ apiKey, baseUrl }: GeminiSettings): Promise<GoogleGenAI> {
  const { GoogleGenAI: Sdk } = await import("@google/genai");
  // Said outright: otherwise variables of the environment may send it, and the text, to another service.
  return new Sdk({ apiKey, vertexai: false, httpOptions: baseUrl === undefined ? {} : { baseUrl } });
}

/** As little thinking as a model is known to allow: it is paid for like an answer, and there is nothing here to work out. */
function thinkingOf(model: string): { thinkingConfig?: ThinkingConfig } {
  if (/\bgemini-2\.5-flash/.test(model)) return { thinkingConfig: { thinkingBudget: 0 } };
  // The SDK's enum is a value of a module that is not loaded yet.
  if (/\bgemini-[3-9].*-flash/.test(model)) return { thinkingConfig: { thinkingLevel: "MINIMAL" as ThinkingLevel } };
  return {};
}
