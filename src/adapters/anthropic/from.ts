import type { Message, MessageParam, TextBlockParam } from "@anthropic-ai/sdk/resources/messages";
import type { Part } from "../../core/message.ts";
import { type AdaptedMessage, refuse } from "../shared/message.ts";
import { type Fields, keepInMetadata } from "../shared/own.ts";
import { isPlainText } from "../shared/plain-text.ts";
import { contentOfBlock, partOfBlock, resultOfBlock } from "./blocks.ts";

/** A message of a Messages API request, or a reply. */
export type AnthropicMessage = MessageParam | Message;

/** The fields of a Messages API request that hold the conversation. */
export interface AnthropicConversation {
  system?: string | TextBlockParam[];
  messages: MessageParam[];
}

/**
 * Converts messages of Anthropic. A request also yields a system message for each block of its `system`. A user message
 * that holds results becomes a tool message, followed or preceded by a user message with its other blocks. Fields that we
 * do not know are kept under `anthropic` in the part or in `metadata`, and `toAnthropic` restores them. A reply's own
 * fields (model, usage, stop reason) are kept in `metadata.anthropic.coppice.reply` and never sent.
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
  const isListOfText = Array.isArray(system) && isPlainText(parts, "anthropic");
  return parts.map((part) => ({
    role: "system",
    parts: [part],
    ...keepInMetadata("anthropic", {}, { content: isListOfText ? "list" : undefined }),
  }));
}

function messagesOf(message: Fields, path: string, afterResults: boolean): AdaptedMessage[] {
  const { role, content, ...rest } = message;
  const isReply = rest.type === "message";
  const fields = isReply ? {} : rest;
  const form = { reply: isReply ? rest : undefined };
  if (role === "user") return userMessages(content, path, fields, afterResults);
  if (role !== "assistant" && role !== "system") {
    return refuse(`${path}.role`, `Anthropic has no role ${JSON.stringify(role)}`);
  }
  const parts = partsIn(content, path, role === "system" ? contentOfBlock : partOfBlock);
  const kept = keepInMetadata("anthropic", fields, {
    ...form,
    content: listOf(content, parts),
    place: role === "system" ? "messages" : undefined,
  });
  return [{ role, parts, ...kept }];
}

/** Splits a user message into runs of results and runs of other blocks. */
function userMessages(content: unknown, path: string, fields: Fields, afterResults: boolean): AdaptedMessage[] {
  const blocks = partsIn(content, path, (block) => resultOfBlock(block) ?? contentOfBlock(block));
  const runs: AdaptedMessage[] = [];
  for (const part of blocks) {
    const role = part.type === "tool_result" ? "tool" : "user";
    const last = runs.at(-1);
    if (last?.role === role) (last.parts as Part[]).push(part);
    else runs.push({ role, parts: [part] });
  }
  if (runs.length === 0) runs.push({ role: "user", parts: [] });
  return runs.map((run, index) => {
    // `toAnthropic` joins consecutive results. This mark keeps separate messages separate.
    const isApart = index === 0 && run.role === "tool" && afterResults;
    const form = {
      content: runs.length === 1 ? listOf(content, run.parts!) : undefined,
      joined: index > 0 ? true : isApart ? false : undefined,
    };
    return { ...run, ...keepInMetadata("anthropic", index === 0 ? fields : {}, form) };
  });
}

function partsIn<P extends Part>(content: unknown, path: string, partOf: (block: unknown) => P): P[] {
  if (typeof content === "string") return [partOf({ type: "text", text: content })];
  return Array.isArray(content) ? content.map(partOf) : refuse(`${path}.content`, "it is neither text nor a list");
}

function listOf(content: unknown, parts: readonly Part[]): "list" | undefined {
  return Array.isArray(content) && isPlainText(parts, "anthropic") ? "list" : undefined;
}
