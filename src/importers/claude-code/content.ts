import type { DataPart, FilePart, JsonValue, Part, TextPart } from "../../core/message.ts";
import type { JsonObject } from "../lines.ts";
import { objectOf, stringOf } from "../values.ts";

/**
 * Content blocks of Anthropic's Messages API as parts. Fields of a block that a part does not have stay in the part
 * under their own names; a block of a kind we have no part for, or that its role may not have, becomes a `data` part
 * that holds all of it.
 *
 * @param content  A string stands for one text block; anything that is neither string nor list, for one block.
 */
export function partsOf(role: "user" | "assistant", content: JsonValue): Part[] {
  const partOf = role === "user" ? userPartOf : assistantPartOf;
  if (typeof content === "string") return [{ type: "text", text: content }];
  return (Array.isArray(content) ? content : [content]).map(partOf);
}

function assistantPartOf(block: JsonValue): Part {
  const { type, ...fields } = objectOf(block);
  if (type === "thinking" && typeof fields.thinking === "string") {
    const { thinking, ...rest } = fields;
    return { type: "reasoning", text: thinking as string, ...rest };
  }
  // Its `data` is encrypted, and the provider wants it back.
  if (type === "redacted_thinking") return { type: "reasoning", ...fields, text: "" };
  if (type === "tool_use" && stringOf(fields.id) && stringOf(fields.name)) {
    const { id, name, input, ...rest } = fields;
    return { type: "tool_call", toolCallId: id as string, name: name as string, args: input ?? null, ...rest };
  }
  return plainPartOf(block);
}

function userPartOf(block: JsonValue): Part {
  const { type, ...fields } = objectOf(block);
  if (type === "tool_result" && stringOf(fields.tool_use_id)) {
    const { tool_use_id, content, is_error, ...rest } = fields;
    const part: Part = {
      type: "tool_result",
      ...rest,
      toolCallId: tool_use_id as string,
      content: resultOf(content),
    };
    if (typeof is_error === "boolean") part.isError = is_error;
    return part;
  }
  return plainPartOf(block);
}

function resultOf(content: JsonValue | undefined): string | (TextPart | FilePart | DataPart)[] {
  if (typeof content === "string") return content;
  if (content === undefined || content === null) return "";
  return (Array.isArray(content) ? content : [content]).map(plainPartOf);
}

/** Text, image or document; anything else as data. */
function plainPartOf(block: JsonValue): TextPart | FilePart | DataPart {
  const { type, source, ...fields } = objectOf(block);
  if (type === "text" && typeof fields.text === "string") return { type, ...fields, text: fields.text };
  if (type === "image" || type === "document") {
    const { type: encoding, media_type, data } = objectOf(source);
    if (encoding === "base64" && stringOf(media_type) && typeof data === "string") {
      return { type: "file", ...fields, mediaType: media_type as string, data };
    }
  }
  return { type: "data", data: block };
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
