import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import type { DataPart, Part, ToolCallPart, ToolResultPart } from "../../core/message.ts";
import { wellFormed } from "../../core/well-formed.ts";
import { type AnyMessage, isContent, partsOf, textOrList } from "../shared/message.ts";
import { type Fields, ownOf } from "../shared/own.ts";
import { textBlockOf, userBlockOf } from "./blocks.ts";
import { callBlockOf, callIdOf, isCall, isLegacyCall } from "./calls.ts";
import { legalName } from "./from.ts";

/**
 * Converts our messages, usually those of a rendered context, to `messages` of a Chat Completions request. A message with
 * several results becomes one message for each result. All others convert one to one.
 *
 * Other models' reasoning and `isError` are left out. Data becomes text, and so do files outside of user messages. Ids and names
 * that OpenAI refuses are replaced equally in calls and results. Messages without any content left are dropped.
 */
export function toOpenai(messages: readonly AnyMessage[]): ChatCompletionMessageParam[] {
  return wellFormed(messages).flatMap(messagesOf) as unknown as ChatCompletionMessageParam[];
}

function messagesOf(message: AnyMessage): Fields[] {
  const parts = partsOf(message);
  const { fields, form } = ownOf(message.metadata, "openai");
  const content = parts.filter(isContent);
  const name = legalName(message.name);
  switch (message.role) {
    case "tool":
      return parts.flatMap((part) => (part.type === "tool_result" ? [answerOf(part)] : []));
    case "assistant": {
      const said = saidBy(parts, form);
      // The message holds only reasoning of another model.
      const isEmpty = parts.length > 0 && Object.values(said).every((value) => value === null);
      return isEmpty ? [] : [{ ...fields, role: "assistant", ...name, ...said }];
    }
    case "system":
      return [{ ...fields, role: form.role ?? "system", ...name, ...contentField(content.map(textBlockOf), form) }];
    case "user":
      return [{ ...fields, role: "user", ...name, ...contentField(content.map(userBlockOf), form) }];
  }
}

function saidBy(parts: readonly Part[], form: Fields): Fields {
  const said: Fields = {};
  const blocks: unknown[] = [];
  const calls: (ToolCallPart | DataPart)[] = [];
  for (const part of parts) {
    const own = ownOf(part, "openai").form;
    if (isCall(part)) calls.push(part);
    else if (part.type === "reasoning") {
      if (typeof own.field === "string") said[own.field] = part.text;
    } else if (part.type === "text" && own.as === "refusal") said.refusal = part.text;
    else if (isContent(part)) blocks.push(textBlockOf(part));
  }
  Object.assign(said, blocks.length > 0 || form.content !== undefined ? contentField(blocks, form) : { content: null });
  for (const call of calls.filter(isLegacyCall)) said.function_call = callBlockOf(call);
  const others = calls.filter((call) => !isLegacyCall(call));
  if (others.length > 0) said.tool_calls = others.map(callBlockOf);
  return said;
}

function answerOf(part: ToolResultPart): Fields {
  const { fields, form } = ownOf(part, "openai");
  const text = typeof part.content === "string" ? part.content : part.content.map(textBlockOf);
  const content = text !== "" || form.content === undefined ? { content: text } : contentField([], form);
  if (form.as === "function") return { ...fields, role: "function", name: part.toolCallId, ...content };
  return { ...fields, role: "tool", tool_call_id: callIdOf(part), ...content };
}

/** Returns the content. `form` says how empty content was written, and if a single text was in a list. */
function contentField(blocks: readonly unknown[], { content: form }: Fields): Fields {
  if (blocks.length === 0 && form === "absent") return {};
  if (blocks.length === 0 && form === "null") return { content: null };
  if (blocks.length === 0 && form === "empty") return { content: "" };
  return { content: textOrList(blocks, form === "list") };
}
