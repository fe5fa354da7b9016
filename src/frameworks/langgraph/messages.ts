import { hash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import { ID_CHARS_MAX } from "../../core/limits.ts";
import type { MessageInput, Part, Role, ToolResultPart } from "../../core/message.ts";

type Block = Record<string, unknown>;

export type RecallableMessage = MessageInput & { parts: Part[] };

const ROLES: Record<string, Role> = {
  human: "user",
  ai: "assistant",
  assistant: "assistant",
  system: "system",
  developer: "system",
  tool: "tool",
  function: "tool",
};

const FILE_TYPES: Record<string, string> = {
  image: "image/*",
  image_url: "image/*",
  audio: "audio/*",
  input_audio: "audio/*",
  video: "video/*",
  file: "application/octet-stream",
};

export function isMessages(value: unknown): value is BaseMessage[] {
  return Array.isArray(value) && value.every((item) => typeof item?.getType === "function" && "content" in item);
}

/**
 * Converts a message of LangChain into one that can be recalled: its texts, calls and results. The data of files is left out,
 * because the message itself is stored word for word elsewhere.
 */
export function recallableMessage(message: BaseMessage): RecallableMessage {
  const role = roleOf(message);
  const { id, name } = message;
  const content = contentOf(message).filter(({ type }) => type !== "reasoning" || role === "assistant");
  return {
    role,
    parts: role === "tool" ? [resultOf(message)] : [...content, ...callsOf(message, role)],
    ...(isName(name) && { name }),
    ...(isName(id) && { id }),
  };
}

/** Converts a message of a list. A message without an id gets one from its index and content, so that it is appended once. */
export function listedMessage(message: BaseMessage, index: number): RecallableMessage {
  const recallable = recallableMessage(message);
  return { id: `${index}:${shortHash(JSON.stringify(recallable))}`, ...recallable };
}

/** Returns an id for a message that was changed after it was stored, because a stored message never changes. */
export function idOfChanged({ id = "", parts }: RecallableMessage): string {
  return `${id.slice(0, ID_CHARS_MAX / 2)}:${shortHash(JSON.stringify(parts))}`;
}

function shortHash(text: string): string {
  return hash("sha256", text, "hex").slice(0, 32);
}

function roleOf(message: BaseMessage): Role {
  const type = message.getType();
  return ROLES[type === "generic" ? String((message as { role?: string }).role) : type] ?? "user";
}

function contentOf({ content }: BaseMessage): Part[] {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : content ? [content] : [];
  return blocks.flatMap((block) =>
    typeof block === "string" ? [{ type: "text", text: block }] : partsOf(block as Block),
  );
}

function partsOf(block: Block): Part[] {
  const type = String(block.type);
  const reasoning = block.reasoning ?? block.thinking;
  if (typeof reasoning === "string") return [{ type: "reasoning", text: reasoning }];
  if (typeof block.text === "string") return [{ type: "text", text: block.text }];
  // The message has a list of its calls.
  if (type.startsWith("tool_")) return [];
  const mediaType = FILE_TYPES[type];
  if (mediaType === undefined) return [{ type: "data", data: plain(block) }];
  const given = block.mimeType ?? block.mime_type;
  return [{ type: "file", mediaType: isName(given) ? given : mediaType }];
}

function callsOf(message: BaseMessage, role: Role): Part[] {
  const calls = (message as { tool_calls?: { id?: string; name?: string; args?: unknown }[] }).tool_calls;
  if (role !== "assistant" || !Array.isArray(calls)) return [];
  return calls.map(({ id, name, args }, index) => ({
    type: "tool_call",
    toolCallId: id || `call_${index}`,
    name: name || "tool",
    args: plain(args),
  }));
}

function resultOf(message: BaseMessage): ToolResultPart {
  const { tool_call_id, status } = message as { tool_call_id?: string; status?: string };
  const content = contentOf(message).filter(
    (part) => part.type === "text" || part.type === "file" || part.type === "data",
  );
  return {
    type: "tool_result",
    toolCallId: tool_call_id || message.name || "call",
    ...(isName(message.name) && { name: message.name }),
    content: typeof message.content === "string" ? message.content : content,
    ...(status === "error" && { isError: true }),
  };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= ID_CHARS_MAX && value.isWellFormed();
}

/** Returns a value after a round trip through JSON, as it is in the checkpoint. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value) ?? "null");
}
