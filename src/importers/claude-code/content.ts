import { type AdaptedMessage, type AnthropicMessage, fromAnthropic } from "../../adapters/anthropic.ts";
import type { JsonValue, Part } from "../../core/message.ts";
import type { JsonObject } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";

/**
 * What somebody said, in content of Anthropic's Messages API. Results of tools and what else a user says are a message each.
 *
 * @param content  A string stands for one text block; anything that is neither string nor list, for one block.
 */
export function messagesOf(role: "user" | "assistant", content: JsonValue): AdaptedMessage[] {
  const blocks = typeof content === "string" || Array.isArray(content) ? content : [content];
  return fromAnthropic({ role, content: blocks } as unknown as AnthropicMessage);
}

/** The messages of one role as one, the first's metadata with it; undefined where there are none. */
export function messageOfRole(role: "user" | "tool", said: readonly AdaptedMessage[]): AdaptedMessage | undefined {
  const [first, ...others] = said.filter((message) => message.role === role);
  return first && { ...first, parts: [first, ...others].flatMap(({ parts }) => parts) };
}

/**
 * What an `attachment` line told the agent: the words it holds as text, an image as a file, and everything else about
 * it as data.
 */
export function attachmentPartsOf(attachment: JsonObject): Part[] {
  const { content, ...rest } = attachment;
  const words = Array.isArray(content) ? content : [content];
  if (words.every((word) => typeof word === "string")) {
    return [...words.map((text): Part => ({ type: "text", text })), { type: "data", data: rest }];
  }
  const { type, file, ...about } = objectOf(content);
  const { base64, type: mediaType, content: text, ...aboutFile } = objectOf(file);
  if (type === "image" && typeof base64 === "string" && stringOf(mediaType)) {
    const data = { ...rest, content: { type, file: aboutFile, ...about } };
    return [
      { type: "file", mediaType: mediaType as string, data: base64 },
      { type: "data", data },
    ];
  }
  if (type === "text" && typeof text === "string") {
    const data = { ...rest, content: { type, file: aboutFile, ...about } };
    return [
      { type: "text", text },
      { type: "data", data },
    ];
  }
  return [{ type: "data", data: attachment }];
}
