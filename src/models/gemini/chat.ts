import type { FunctionCallingConfigMode } from "@google/genai";
import { StoreError } from "../../core/errors.ts";
import type { ChatModel, ChatReply, ChatRequest, ReplyPart } from "../chat-model.ts";
import type { ModelUsage } from "../usage.ts";
import { GeminiClient, type StreamParameters } from "./client.ts";
import { contentsOf } from "./contents.ts";
import { checkWhole, type GeminiOptions, geminiSettings } from "./options.ts";
import { withCost } from "./prices.ts";
import { checkFinish, parseChunk } from "./reply.ts";
import { ReplyParts } from "./reply-parts.ts";

export interface GeminiChatOptions extends GeminiOptions {
  /** The most tokens of a reply including reasoning, by the model's count: 1 to 65,536. Default: 8,192. */
  outputTokensMax?: number;
  /** The model's context window in tokens: more than `outputTokensMax`, at most 100,000,000. Default: 1,048,576. */
  contextWindow?: number;
}

const OUTPUT_TOKENS_MAX = 8_192;
const OUTPUT_TOKENS_LIMIT = 65_536;
const CONTEXT_WINDOW = 1_048_576;
const CONTEXT_WINDOW_LIMIT = 100_000_000;

/**
 * Streams replies of Gemini. A reply is one request and is never retried here. `timeoutMs` limits the wait for each chunk.
 *
 * The context leaves the machine, each text after `redact`; see `contentsOf`.
 *
 * @throws {StoreError} `MODEL_KEY_MISSING`, `OPTION_INVALID`. No error of a reply contains the key.
 */
export function geminiChat(options: GeminiChatOptions = {}): ChatModel {
  const { outputTokensMax = OUTPUT_TOKENS_MAX, contextWindow = CONTEXT_WINDOW, ...shared } = options;
  checkWhole("outputTokensMax", outputTokensMax, OUTPUT_TOKENS_LIMIT);
  checkWhole("contextWindow", contextWindow, CONTEXT_WINDOW_LIMIT);
  if (contextWindow <= outputTokensMax) {
    const expected = `more than outputTokensMax (${outputTokensMax})`;
    throw new StoreError("OPTION_INVALID", { option: "contextWindow", expected, actual: contextWindow });
  }
  const client = new GeminiClient(geminiSettings(shared));
  return {
    id: client.settings.model,
    contextWindow,
    outputTokensMax,
    reply: (request) => new GeminiReply(client, request, outputTokensMax),
  };
}

class GeminiReply implements ChatReply {
  readonly #client: GeminiClient;
  readonly #request: ChatRequest;
  readonly #outputTokensMax: number;
  readonly #reply = new ReplyParts();

  constructor(client: GeminiClient, request: ChatRequest, outputTokensMax: number) {
    this.#client = client;
    this.#request = request;
    this.#outputTokensMax = outputTokensMax;
  }

  get parts(): readonly ReplyPart[] {
    return this.#reply.parts;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    const { signal, onUsage } = this.#request;
    const { model, prices } = this.#client.settings;
    let finish: string | undefined;
    let paid: ModelUsage | undefined;
    try {
      for await (const piece of this.#client.stream(this.#parameters(), signal)) {
        const { parts, finishReason, usage } = parseChunk(piece, model);
        finish = finishReason ?? finish;
        paid = usage ?? paid;
        const text = this.#reply.add(parts);
        if (text !== "") yield text;
      }
      checkFinish(finish, this.#reply.isEmpty, model);
    } finally {
      if (paid !== undefined) onUsage?.(withCost(paid, prices));
    }
  }

  #parameters(): StreamParameters {
    const { messages, tools, mayCall } = this.#request;
    const { system, contents } = contentsOf(messages, this.#client.settings);
    const functionDeclarations = tools.map(({ name, description, schema }) => {
      return { name, description, parametersJsonSchema: schema };
    });
    // The SDK's enum is not loaded yet.
    const mode = (mayCall ? "AUTO" : "NONE") as FunctionCallingConfigMode;
    return {
      contents,
      config: {
        systemInstruction: [this.#request.system, ...system].join("\n\n"),
        maxOutputTokens: this.#outputTokensMax,
        ...(tools.length > 0 && { tools: [{ functionDeclarations }], toolConfig: { functionCallingConfig: { mode } } }),
      },
    };
  }
}
