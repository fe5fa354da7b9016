import { type AdaptedMessage, type AnthropicMessage, fromAnthropic } from "../../adapters/anthropic.ts";
import type { JsonValue, Part } from "../../core/message.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { objectOf, shortFieldsOf, stringOf } from "../values.ts";
import { timeOf } from "./line.ts";

/** Converts content of Anthropic's Messages API. Tool results and other words of a user become separate messages. */
export function messagesOf(role: "user" | "assistant", content: JsonValue): AdaptedMessage[] {
  const blocks =
    typeof content === "string" ? content : (Array.isArray(content) ? content : [content]).map(plainResult);
  return fromAnthropic({ role, content: blocks } as unknown as AnthropicMessage);
}

/** iFlow keeps the words of a result in a response of Gemini's, within the block. */
function plainResult(block: JsonValue): JsonValue {
  const { type, content } = objectOf(block);
  const { responseParts = content } = objectOf(content);
  const { output } = objectOf(objectOf(objectOf(responseParts).functionResponse).response);
  return type === "tool_result" && typeof output === "string" ? { ...objectOf(block), content: output } : block;
}

/** Joins the messages of one role, with the metadata of the first. Returns undefined if there are none. */
export function messageOfRole(role: "user" | "tool", said: readonly AdaptedMessage[]): AdaptedMessage | undefined {
  const [first, ...others] = said.filter((message) => message.role === role);
  return first && { ...first, parts: [first, ...others].flatMap(({ parts }) => parts) };
}

/** Returns the parts of an `attachment` line: its words as text, an image as a file, and its other fields as data. */
export function attachmentPartsOf(attachment: JsonObject): Part[] {
  const { content, ...rest } = attachment;
  const words = Array.isArray(content) ? content : [content];
  if (words.every((word) => typeof word === "string")) {
    return [...words.map((text): Part => ({ type: "text", text })), { type: "data", data: rest }];
  }
  const { type, file, ...about } = objectOf(content);
  const { base64, type: mediaType, content: text, ...aboutFile } = objectOf(file);
  const data: Part = { type: "data", data: { ...rest, content: { type, file: aboutFile, ...about } } };
  if (type === "image" && typeof base64 === "string" && stringOf(mediaType)) {
    return [{ type: "file", mediaType: mediaType as string, data: base64 }, data];
  }
  if (type === "text" && typeof text === "string") return [{ type: "text", text }, data];
  return [{ type: "data", data: attachment }];
}

/** Returns what a line says besides its content and what its session says, such as `cwd` and `message: { id, model, usage }`. */
export function metadataOf(line: JsonObject): JsonObject {
  const { type, uuid, timestamp, message, attachment, content, toolUseResult, ...about } = line;
  const { sessionId, agentId, isSidechain, userType, ...metadata } = about;
  if (type !== "user" && type !== "assistant") metadata.type = type as JsonValue;
  if (timestamp !== undefined && timeOf(line) === undefined) metadata.timestamp = timestamp;
  if (isObject(message)) {
    const { role: _role, content: _content, type: _type, ...rest } = message;
    if (Object.keys(rest).length > 0) metadata.message = withoutNulls(rest);
  }
  // For example, the meaning of an exit code.
  const result = shortFieldsOf(objectOf(toolUseResult));
  if (Object.keys(result).length > 0) metadata.toolUseResult = result;
  return withoutNulls(metadata);
}

function withoutNulls(object: JsonObject): JsonObject {
  if (!Object.values(object).includes(null)) return object;
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}
