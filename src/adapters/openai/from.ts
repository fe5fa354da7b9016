import type { ChatCompletionMessage, ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { Part } from "../../core/message.ts";
import { type AdaptedMessage, isPlainText, refuse } from "../shared/message.ts";
import { type Fields, isName, keep, keepInMetadata } from "../shared/own.ts";
import { contentOfBlock } from "./blocks.ts";
import { callsOf, legacyCallOf } from "./calls.ts";

/** OpenAI-compatible servers put a model's reasoning in these fields. OpenAI itself does not send it. */
const REASONING_FIELDS = ["reasoning_content", "reasoning"];

/** A message of a Chat Completions request, or of a choice in a reply. */
export type OpenaiMessage = ChatCompletionMessageParam | ChatCompletionMessage;

/**
 * Converts messages of OpenAI's Chat Completions, one to one. Unknown fields are kept under `openai` in the part or in
 * `metadata`, and `toOpenai` restores them.
 *
 * @throws {StoreError} `MESSAGE_INVALID` for an unknown role, for content that is neither a string nor an array, and for
 *   a result that names no call.
 */
export function fromOpenai(messages: OpenaiMessage | readonly OpenaiMessage[]): AdaptedMessage[] {
  return [messages].flat().map((message, index) => messageOf(message as unknown as Fields, `messages[${index}]`));
}

function messageOf(message: Fields, path: string): AdaptedMessage {
  switch (message.role) {
    case "system":
    case "developer":
    case "user":
      return saidMessage(message, path);
    case "assistant":
      return assistantMessage(message, path);
    case "tool":
    case "function":
      return toolMessage(message, path);
    default:
      return refuse(`${path}.role`, `OpenAI has no role ${JSON.stringify(message.role)}`);
  }
}

function saidMessage({ role, content, ...fields }: Fields, path: string): AdaptedMessage {
  const parts = partsIn(content);
  const form = formOf(content, path);
  const name = takeName(fields);
  const kept = keepInMetadata("openai", fields, {
    content: form === "list" && !isPlainText(parts, "openai") ? undefined : form,
    role: role === "developer" ? role : undefined,
  });
  return { role: role === "user" ? "user" : "system", parts, ...name, ...kept };
}

function assistantMessage({ role: _, content, ...fields }: Fields, path: string): AdaptedMessage {
  // Many servers send an empty string as the content of a message that has only calls.
  const texts = content === "" ? [] : partsIn(content);
  const form = content === "" ? "empty" : formOf(content, path);
  const name = takeName(fields);
  const parts: Part[] = [];
  for (const field of REASONING_FIELDS) {
    const text = fields[field];
    if (typeof text !== "string") continue;
    parts.push({ type: "reasoning", text, ...keep("openai", {}, { field }) });
    delete fields[field];
  }
  parts.push(...texts);
  if (typeof fields.refusal === "string") {
    parts.push({ type: "text", text: fields.refusal, ...keep("openai", {}, { as: "refusal" }) });
    delete fields.refusal;
  }
  const calls = callsOf(fields.tool_calls);
  if (calls.length > 0) delete fields.tool_calls;
  const legacyCalls = legacyCallOf(fields.function_call);
  if (legacyCalls.length > 0) delete fields.function_call;
  parts.push(...calls, ...legacyCalls);

  const isTold = form === "null" || (form === "list" && texts.length > 0 && !isPlainText(texts, "openai"));
  return {
    role: "assistant",
    parts,
    ...name,
    ...keepInMetadata("openai", fields, { content: isTold ? undefined : form }),
  };
}

/** Converts a tool message or the older `function` message, whose name serves as the call's id. */
function toolMessage({ role, ...message }: Fields, path: string): AdaptedMessage {
  const key = role === "function" ? "name" : "tool_call_id";
  const { [key]: toolCallId, content, ...fields } = message;
  if (!isName(toolCallId)) refuse(`${path}.${key}`, "a result must name its call");
  const form = formOf(content, path);
  const as = role === "function" ? role : undefined;
  const kept = keep("openai", fields, { as, content: form === "list" ? undefined : form });
  const result = Array.isArray(content) ? content.map(contentOfBlock) : ((content ?? "") as string);
  return { role: "tool", parts: [{ type: "tool_result", toolCallId, content: result, ...kept }] };
}

function partsIn(content: unknown): Part[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(contentOfBlock) : [];
}

/** Returns a mark for a form of content that the parts do not show. A string needs no mark. */
function formOf(content: unknown, path: string): "absent" | "null" | "list" | undefined {
  if (content === undefined) return "absent";
  if (content === null) return "null";
  if (Array.isArray(content)) return "list";
  return typeof content === "string" ? undefined : refuse(`${path}.content`, "it is neither text nor a list");
}

/** Moves the name out of the fields, unless OpenAI would refuse it. */
function takeName(fields: Fields): { name?: string } {
  const named = legalName(fields.name);
  if (named.name !== undefined) delete fields.name;
  return named;
}

export function legalName(name: unknown): { name?: string } {
  return typeof name === "string" && /^[^\s<|\\/>]{1,64}$/.test(name) && name.isWellFormed() ? { name } : {};
}
