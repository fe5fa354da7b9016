import type { FunctionCallingConfigMode } from "@google/genai";
import { fromGemini } from "../../adapters/gemini.ts";
import { wholeNumber } from "../../core/options.ts";
import type { ChatModel, ChatReply, ChatRequest, ReplyPart } from "../chat-model.ts";
import { invalid } from "../options.ts";
import type { ModelUsage } from "../usage.ts";
import { GeminiClient, type StreamParameters } from "./client.ts";
import { contentsOf } from "./contents.ts";
import { type GeminiOptions, geminiSettings } from "./options.ts";
import { type ChunkPart, checkFinish, parseChunk } from "./reply.ts";
import { withCost } from "./usage.ts";

export interface GeminiChatOptions extends GeminiOptions {
  /** The most tokens of a reply including reasoning, by the model's count: 1 to 65,536. Default: 8,192. */
  outputTokensMax?: number;
  /** The model's context window in tokens: more than `outputTokensMax`, at most 100,000,000. Default: 1,048,576. */
  contextWindow?: number;
}

/**
 * Streams replies of Gemini. A reply is one request, without retries. `timeoutMs` limits the wait for each chunk. The texts of
 * the context leave the machine, each after `redact`: see `contentsOf`.
 *
 * @throws {StoreError} `MODEL_REFUSED`, `OPTION_INVALID`. No error of a reply contains the key.
 */
export function geminiChat(options: GeminiChatOptions = {}): ChatModel {
  const { outputTokensMax = 8_192, contextWindow = 1_048_576, ...shared } = options;
  wholeNumber("outputTokensMax", outputTokensMax, 1, 65_536);
  wholeNumber("contextWindow", contextWindow, 1, 100_000_000);
  if (contextWindow <= outputTokensMax) {
    throw invalid("contextWindow", `more than outputTokensMax (${outputTokensMax})`, contextWindow);
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

/**
 * Joins the chunks of a streamed reply into parts. Gemini refuses a call of the current turn if the thought signature that came
 * with it is missing. So a signature stays in its part. If it comes alone at the end of a stream, the first call gets it, or
 * else the text.
 */
class ReplyParts {
  readonly #received: ChunkPart[] = [];

  get parts(): ReplyPart[] {
    const [message] = fromGemini({ role: "model", parts: this.#received as object[] });
    return message!.parts as ReplyPart[];
  }

  /** True while there is only white space and reasoning. */
  get isEmpty(): boolean {
    return !this.#received.some(
      ({ functionCall, text, thought }) => functionCall || (!thought && /\S/.test(text ?? "")),
    );
  }

  /** Returns the new text. */
  add(chunk: readonly ChunkPart[]): string {
    let said = "";
    for (const { text, thought, thoughtSignature, functionCall } of chunk) {
      const signed = thoughtSignature ? { thoughtSignature } : {};
      if (functionCall) {
        const { id, name, args } = functionCall;
        this.#received.push({ functionCall: { ...(id && { id }), name, args: args ?? {} }, ...signed });
      } else if (text) {
        this.#join(text, thought === true, signed);
        if (thought !== true) said += text;
      } else if (thoughtSignature) this.#sign(thoughtSignature);
    }
    return said;
  }

  #join(text: string, thought: boolean, signed: object): void {
    const last = this.#received.at(-1);
    const isSame = last?.text !== undefined && (last.thought === true) === thought;
    if (isSame) Object.assign(last, { text: `${last.text}${text}` }, signed);
    else this.#received.push({ text, ...(thought && { thought }), ...signed });
  }

  #sign(thoughtSignature: string): void {
    const call = this.#received.find(({ functionCall }) => functionCall);
    const part = call ?? this.#received.findLast(({ text, thought }) => text && !thought);
    if (part !== undefined) part.thoughtSignature ??= thoughtSignature;
  }
}
