import type { Message, MessageParam, TextBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { Part } from "../../core/message.ts";
import { type AdaptedMessage, isPlainText, refuse, splitByRole } from "../shared/message.ts";
import { type Fields, keepInMetadata } from "../shared/own.ts";
import { assistantPartOf, contentOfBlock, userPartOf } from "./blocks.ts";

/** A message of a Messages API request, or a reply. */
export type AnthropicMessage = MessageParam | Message;

/** The fields of a Messages API request that hold the conversation. */
export interface AnthropicConversation {
  system?: string | TextBlockParam[];
  messages: MessageParam[];
}

/**
 * Converts messages of Anthropic. A request also yields a system message for each block of its `system`. The results in a user
 * message become a tool message, and its other blocks a user message. Unknown fields are kept under `anthropic` in the part or
 * in `metadata`, and `toAnthropic` restores them. A reply's own fields (model, usage, stop reason) are kept in
 * `metadata.anthropic.coppice.reply` and never sent.
 *
 * @throws {StoreError} `MESSAGE_INVALID` for an unknown role, and for content that is neither a string nor an array.
 */
export function fromAnthropic(
  messages: AnthropicMessage | readonly AnthropicMessage[] | AnthropicConversation,
): AdaptedMessage[] {
  const { system, messages: said } =
    "messages" in messages ? messages : { system: undefined, messages: [messages].flat() };
  let last: AdaptedMessage | undefined;
  const ours = said.flatMap((message, index) => {
    const next = messagesOf(message as unknown as Fields, `messages[${index}]`, last?.role === "tool");
    last = next.at(-1);
    return next;
  });
  return [...systemMessages(system), ...ours];
}

function systemMessages(system: unknown): AdaptedMessage[] {
  if (system === undefined) return [];
  const parts = partsIn(system, "system", contentOfBlock);
  const kept = keepInMetadata("anthropic", {}, { content: listOf(system, parts) });
  return parts.map((part) => ({ role: "system", parts: [part], ...kept }));
}

function messagesOf(message: Fields, path: string, afterResults: boolean): AdaptedMessage[] {
  const { role, content, ...rest } = message;
  // A request has neither of these fields.
  const isReply = rest.type === "message" || (role === "assistant" && typeof rest.model === "string");
  const fields = isReply ? {} : rest;
  if (role === "user") return userMessages(content, path, fields, afterResults);
  if (role !== "assistant" && role !== "system") {
    return refuse(`${path}.role`, `Anthropic has no role ${JSON.stringify(role)}`);
  }
  const parts = partsIn(content, path, role === "system" ? contentOfBlock : assistantPartOf);
  const form = {
    reply: isReply ? rest : undefined,
    content: listOf(content, parts),
    place: role === "system" ? "messages" : undefined,
  };
  return [{ role, parts, ...keepInMetadata("anthropic", fields, form) }];
}

function userMessages(content: unknown, path: string, fields: Fields, afterResults: boolean): AdaptedMessage[] {
  const parts = partsIn(content, path, userPartOf);
  return splitByRole(parts, "user").map((run, index) => {
    // `toAnthropic` joins consecutive results. This mark keeps separate messages separate.
    const isApart = index === 0 && run.role === "tool" && afterResults;
    const form = { content: listOf(content, parts), joined: index > 0 ? true : isApart ? false : undefined };
    return { ...run, ...keepInMetadata("anthropic", index === 0 ? fields : {}, form) };
  });
}

function partsIn<P extends Part>(content: unknown, path: string, partOf: (block: unknown) => P): P[] {
  if (typeof content === "string") return [partOf({ type: "text", text: content })];
  return Array.isArray(content) ? content.map(partOf) : refuse(`${path}.content`, "it is neither text nor a list");
}

/** Marks a list with a single plain text, because it would be sent as a string otherwise. */
function listOf(content: unknown, parts: readonly Part[]): "list" | undefined {
  return Array.isArray(content) && isPlainText(parts, "anthropic") ? "list" : undefined;
}
