import { type AdaptedMessage, type AnthropicMessage, fromAnthropic } from "../../adapters/anthropic.ts";
import type { JsonValue, Part } from "../../core/message.ts";
import type { JsonObject } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";

/**
 * Returns the messages in content of Anthropic's Messages API. Tool results and other words of a user are separate messages.
 *
 * @param content  A string is one text block. A value that is neither string nor list is one block.
 */
export function messagesOf(role: "user" | "assistant", content: JsonValue): AdaptedMessage[] {
  const blocks = typeof content === "string" || Array.isArray(content) ? content : [content];
  return fromAnthropic({ role, content: blocks } as unknown as AnthropicMessage);
}

/** Returns the messages of one role as one, with the metadata of the first, or undefined if there are none. */
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
