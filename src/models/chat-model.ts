import type { JsonValue, Part, ReasoningPart, Role, TextPart, ToolCallPart } from "../core/message.ts";
import type { OnUsage } from "./usage.ts";

export interface ChatMessage {
  role: Role;
  parts: readonly Part[];
  /** `model` names the model that wrote it, because provider fields in its parts are valid for that model only. */
  metadata?: Record<string, JsonValue>;
}

export interface ChatTool {
  name: string;
  description: string;
  /** The JSON Schema of its arguments object. */
  schema: object;
}

export interface ChatRequest {
  /** Instructions that come before all system messages. */
  system: string;
  /** A rendered context. The user speaks first, and no message is empty. Calls without a result are sent as interrupted. */
  messages: readonly ChatMessage[];
  tools: readonly ChatTool[];
  /** False if the model may not call tools. They are still declared, because the context may hold earlier calls. */
  mayCall: boolean;
  signal: AbortSignal;
  /** Called once with the cost of the reply, even if it is cut off. */
  onUsage?: OnUsage;
}

/** A part of a reply with the provider's own fields, which the provider needs back. */
export type ReplyPart = TextPart | ReasoningPart | ToolCallPart;

/**
 * A streamed reply. It can be read once, and the request is sent when reading starts.
 *
 * Reading throws the signal's reason once it is aborted, or a {StoreError}: `MODEL_REFUSED`, `MODEL_UNAVAILABLE`,
 * `MODEL_ANSWER_INVALID` (empty, cut off, or of another shape), `REDACT_FAILED`.
 */
export interface ChatReply extends AsyncIterable<string> {
  /** The parts so far, also after a failure. Calls are always whole. */
  readonly parts: readonly ReplyPart[];
}

/** Port: turns a context into the assistant's next message. */
export interface ChatModel {
  /** Names the model. */
  readonly id: string;
  /** The most tokens of context, tools and reply together, by the model's count. */
  readonly contextWindow: number;
  /** The most tokens of one reply. */
  readonly outputTokensMax: number;
  reply(request: ChatRequest): ChatReply;
}
