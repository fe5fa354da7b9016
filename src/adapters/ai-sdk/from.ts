import type { ModelMessage } from "ai";
import type { Part } from "../../core/message.ts";
import { type AdaptedMessage, type ContentPart, foreignBlock, refuse } from "../shared/message.ts";
import { type Fields, isName, isObject, keep, keepInMetadata } from "../shared/own.ts";
import { isPlainText } from "../shared/plain-text.ts";
import { fileOfPart } from "./files.ts";
import { resultOfPart } from "./outputs.ts";

/**
 * Converts model messages of the AI SDK, one to one. Fields that we do not know, such as provider options, are kept
 * under `aiSdk` in the part or in `metadata`, and `toAiSdk` restores them. Bytes become base64 and `URL` objects become
 * strings; the SDK accepts both. Calls that the provider runs itself are kept as `data` parts together with their
 * results, because nobody else has to answer them.
 *
 * @param messages  The messages of a prompt, or `response.messages` of a result.
 * @throws {StoreError} `MESSAGE_INVALID` for an unknown role, for content that is neither a string nor an array, and for
 *   a part of a tool message that is not a result.
 */
export function fromAiSdk(messages: ModelMessage | readonly ModelMessage[]): AdaptedMessage[] {
  return [messages].flat().map((message, index) => messageOf(message as unknown as Fields, `messages[${index}]`));
}

function messageOf({ role, content, ...fields }: Fields, path: string): AdaptedMessage {
  if (role !== "system" && role !== "user" && role !== "assistant" && role !== "tool") {
    return refuse(`${path}.role`, `the AI SDK has no role ${JSON.stringify(role)}`);
  }
  if (typeof content === "string" && role !== "tool") {
    return { role, parts: [{ type: "text", text: content }], ...keepInMetadata("aiSdk", fields) };
  }
  if (!Array.isArray(content)) return refuse(`${path}.content`, "it is neither text nor a list");
  const parts = content.map((part, index) => {
    if (role === "assistant") return partOfSaid(part);
    if (role !== "tool") return contentOfPart(part);
    return (
      resultOfPart(part) ?? approvalOfPart(part) ?? refuse(`${path}.content[${index}]`, "a tool message holds results")
    );
  });
  const isText = role !== "tool" && isPlainText(parts, "aiSdk");
  return { role, parts, ...keepInMetadata("aiSdk", fields, { content: isText ? "list" : undefined }) };
}

function contentOfPart(part: unknown): ContentPart {
  if (!isObject(part)) return foreignBlock("aiSdk", part);
  if (part.type === "text" && typeof part.text === "string") {
    const { type: _, text, ...fields } = part as Fields & { text: string };
    return { type: "text", text, ...keep("aiSdk", fields) };
  }
  const file = part.type === "file" || part.type === "image" ? fileOfPart(part) : undefined;
  return file ?? foreignBlock("aiSdk", part);
}

function partOfSaid(part: unknown): Part {
  if (!isObject(part)) return foreignBlock("aiSdk", part);
  const { type, ...rest } = part;
  if (type === "reasoning" && typeof rest.text === "string") {
    const { text, ...fields } = rest as { text: string };
    return { type, text, ...keep("aiSdk", fields) };
  }
  if (type === "tool-call" && isName(rest.toolCallId) && isName(rest.toolName) && rest.providerExecuted !== true) {
    const { toolCallId, toolName, input, ...fields } = rest as Fields & { toolCallId: string; toolName: string };
    return { type: "tool_call", toolCallId, name: toolName, args: input, ...keep("aiSdk", fields) };
  }
  return contentOfPart(part);
}

/** Converts a person's answer to an approval request. It is stored as the result of a call with the request's id. */
function approvalOfPart(part: unknown): Part | undefined {
  if (!isObject(part) || part.type !== "tool-approval-response" || !isName(part.approvalId)) return undefined;
  const { type, approvalId, reason, ...fields } = part as Fields & { approvalId: string };
  const isText = typeof reason === "string";
  const kept = keep("aiSdk", isText || reason === undefined ? fields : { ...fields, reason }, { as: type });
  return {
    type: "tool_result",
    toolCallId: approvalId,
    content: isText ? [{ type: "text", text: reason }] : [],
    ...kept,
  };
}
