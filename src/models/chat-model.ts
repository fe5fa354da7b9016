import type { JsonValue, Part, ReasoningPart, Role, TextPart, ToolCallPart } from "../core/message.ts";
import type { OnUsage } from "./usage.ts";

/** A message of a rendered context. */
export interface ChatMessage {
  role: Role;
  parts: readonly Part[];
  /** `model` names the model it came from: what a provider added to its parts is of use to that model alone. */
  metadata?: Record<string, JsonValue>;
}

/** What a model may call. */
export interface ChatTool {
  name: string;
  description: string;
  /** JSON Schema of its arguments, which are one object. */
  schema: object;
}

export interface ChatRequest {
  /** What the model is told about itself, before all system messages. */
  system: string;
  /** A rendered context: the user speaks first, no message is empty. Calls without a result are sent as interrupted. */
  messages: readonly ChatMessage[];
  tools: readonly ChatTool[];
  /** Whether it may call them this time. They are named either way, since earlier calls of them may stand in the context. */
  mayCall: boolean;
  signal: AbortSignal;
  /** Told once what the reply cost, also where it breaks off. */
  onUsage?: OnUsage;
}

/** With whatever else the provider put into it, as it wants that back. */
export type ReplyPart = TextPart | ReasoningPart | ToolCallPart;

/**
 * One reply, text by text as it comes. To be read once; nothing is sent before.
 *
 * It ends when the reply has come to its end. Reading throws the signal's reason once that is aborted; else {StoreError}
 * `MODEL_REFUSED`, `MODEL_UNAVAILABLE`, `MODEL_ANSWER_INVALID` (empty, cut off, of another shape), `REDACT_FAILED`.
 */
export interface ChatReply extends AsyncIterable<string> {
  /** What has come so far, also after a failure; calls too, each of them whole. */
  readonly parts: readonly ReplyPart[];
}

/** Port: a context to the next message of the assistant. */
export interface ChatModel {
  /** Names the model. */
  readonly id: string;
  /** Tokens of context, tools and reply together, by the model's count. */
  readonly contextWindow: number;
  /** Most tokens of one reply. */
  readonly outputTokensMax: number;
  reply(request: ChatRequest): ChatReply;
}
