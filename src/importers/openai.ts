import type { DataPart, FilePart, JsonValue, Part, Role, TextPart } from "../core/message.ts";
import { argumentsOf } from "./call-arguments.ts";
import { type ListedMessage, readConversations, timeOf } from "./conversations.ts";
import { headEntries } from "./documents.ts";
import { dataPartOf, filePartOf } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { type Draft, draftOf } from "./thread.ts";
import { objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

const ROLES: Record<string, Role> = {
  system: "system",
  developer: "system",
  user: "user",
  assistant: "assistant",
  tool: "tool",
  function: "tool",
};

/**
 * Messages of OpenAI's Chat Completions API: a list of them, an object with such a list in `messages` (a request; the answers
 * in its `choices` follow), or either on each line, as in files for fine-tuning.
 */
export const openai: Importer = {
  format: "openai",

  detect(head) {
    for (const { key, value } of headEntries(head)) {
      const message = messageOf(key, value);
      if (isObject(message) && isMessage(message)) return true;
    }
    return false;
  },

  read: (file) => readConversations(file, { format: "openai", messageOf, draftsOf }),
};

function messageOf(key: string | undefined, item: JsonValue): JsonValue | undefined {
  if (key === undefined || key === "messages") return item;
  return key === "choices" ? (objectOf(item).message ?? null) : undefined;
}

/** Whether it could be one, and is none of a format that looks like it. */
function isMessage({
  role,
  content,
  session,
  type,
  parts,
  toolInvocations,
  tool_calls,
  function_call,
}: JsonObject): boolean {
  if (session !== undefined || type !== undefined || parts !== undefined || toolInvocations !== undefined) return false;
  if (typeof role !== "string" || !Object.hasOwn(ROLES, role)) return false;
  return typeof content === "string" || Array.isArray(content) || (tool_calls ?? function_call) !== undefined;
}

function draftsOf({ line, id, value }: ListedMessage): Draft[] | string {
  const { role: given, content, tool_call_id, name, id: _, ...rest } = value;
  const role = typeof given === "string" && Object.hasOwn(ROLES, given) ? ROLES[given]! : undefined;
  if (role === undefined) return `role: expected one of ${Object.keys(ROLES).join(", ")}`;
  const {
    tool_calls,
    function_call,
    refusal,
    reasoning_content,
    reasoning,
    createdAt,
    created_at,
    timestamp,
    ...more
  } = rest;
  const metadata: JsonObject = saidOf(role === given ? more : { role: given as string, ...more });
  const about = { createdAt: timeOf(value), metadata };
  if (role === "tool") {
    // Before calls had ids, an answer was for the function of that name.
    const toolCallId = stringOf(tool_call_id) ?? stringOf(name);
    if (toolCallId === undefined) return "tool_call_id: expected a string";
    const part: Part = { type: "tool_result", toolCallId, content: resultOf(content) };
    if (stringOf(name)) part.name = name as string;
    return [draftOf(line, role, id, [part], about)];
  }
  const parts: Part[] = role === "assistant" ? thoughtsOf(reasoning_content ?? reasoning ?? null) : [];
  parts.push(...contentPartsOf(content));
  if (role === "assistant") {
    if (stringOf(refusal)) parts.push({ type: "text", text: refusal as string, refusal: true });
    parts.push(...objectsOf(tool_calls).map(callPartOf));
    const { name: called, arguments: words } = objectOf(function_call);
    if (stringOf(called)) {
      parts.push({ type: "tool_call", toolCallId: called as string, name: called as string, ...argumentsOf(words) });
    }
  }
  const draft = draftOf(line, role, id, parts, about);
  if (stringOf(name)) draft.message.name = name as string;
  return [draft];
}

function thoughtsOf(thoughts: JsonValue): Part[] {
  return stringOf(thoughts) === undefined ? [] : [{ type: "reasoning", text: thoughts as string }];
}

function contentPartsOf(content: JsonValue | undefined): (TextPart | FilePart | DataPart)[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  return (Array.isArray(content) ? content : [content]).map(contentPartOf);
}

function contentPartOf(block: JsonValue): TextPart | FilePart | DataPart {
  if (typeof block === "string") return { type: "text", text: block };
  const { type, ...fields } = objectOf(block);
  if (type === "text" && typeof fields.text === "string") return { type, ...fields, text: fields.text };
  if (type === "refusal" && typeof fields.refusal === "string") {
    return { type: "text", text: fields.refusal, refusal: true };
  }
  const { url, ...about } = objectOf(fields.image_url);
  if (type === "image_url" && typeof url === "string") return filePartOf(url, undefined, about);
  const { data, format } = objectOf(fields.input_audio);
  if (type === "input_audio" && typeof data === "string") {
    return { type: "file", mediaType: `audio/${stringOf(format) ?? "wav"}`, data };
  }
  const { file_data, filename, ...rest } = objectOf(fields.file);
  if (type === "file" && typeof file_data === "string") {
    return filePartOf(file_data, undefined, saidOf({ name: filename ?? null, ...rest }));
  }
  return dataPartOf(block);
}

function resultOf(content: JsonValue | undefined): string | (TextPart | FilePart | DataPart)[] {
  return typeof content === "string" ? content : contentPartsOf(content);
}

function callPartOf(call: JsonObject): Part {
  const { id, function: called, custom, type, ...rest } = call;
  const { name, arguments: words } = objectOf(called);
  if (!stringOf(id)) return dataPartOf(call);
  const toolCallId = id as string;
  if (stringOf(name)) return { type: "tool_call", ...rest, toolCallId, name: name as string, ...argumentsOf(words) };
  const { name: customName, input } = objectOf(custom);
  if (!stringOf(customName)) return dataPartOf(call);
  return { type: "tool_call", ...rest, toolCallId, name: customName as string, args: input ?? "", custom: true };
}
