import type { JsonValue, Part, ReasoningPart, Role, TextPart, ToolCallPart } from "../core/message.ts";
import type { OnUsage } from "./usage.ts";

export interface ChatMessage {
  role: Role;
  parts: readonly Part[];
  /** `model` is the id of the model that wrote the message. Provider fields in its parts are only valid for that model. */
  metadata?: Record<string, JsonValue>;
}

export interface ChatTool {
  name: string;
  description: string;
  /** The JSON Schema of the object of arguments. */
  schema: object;
}

export interface ChatRequest {
  /** Instructions that come before all system messages. */
  system: string;
  /** A rendered context. The user speaks first, and no message is empty. A call without a result is sent as interrupted. */
  messages: readonly ChatMessage[];
  tools: readonly ChatTool[];
  /** False if the model may not call tools. The tools are still declared, because the context may contain earlier calls. */
  mayCall: boolean;
  signal: AbortSignal;
  /** Called once with the cost of the reply, even if the reply is cut off. */
  onUsage?: OnUsage;
}

/** A part of a reply. The provider may need the provider's own fields back. */
export type ReplyPart = TextPart | ReasoningPart | ToolCallPart;

/**
 * A streamed reply. The request is sent when reading starts. A reply can be read once.
 *
 * Reading throws the signal's reason if aborted, or a {StoreError}: `MODEL_REFUSED`, `MODEL_UNAVAILABLE`, `MODEL_ANSWER_INVALID`
 * (empty, cut off, or of another shape), `REDACT_FAILED`.
 */
export interface ChatReply extends AsyncIterable<string> {
  /** The parts so far, also after a failure. A call is added when it is complete. */
  readonly parts: readonly ReplyPart[];
}

/** Port: turns a context into the assistant's next message. */
export interface ChatModel {
  readonly id: string;
  /** The most tokens of context, tools and reply together, by the model's count. */
  readonly contextWindow: number;
  readonly outputTokensMax: number;
  reply(request: ChatRequest): ChatReply;
}
