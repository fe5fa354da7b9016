import type { JsonValue, Part, Role } from "../core/message.ts";
import { itemsOf, type ListedMessage, readConversations, timeOf } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import {
  callPart,
  dataPartOf,
  filePartOf,
  functionCallOf,
  resultContentOf,
  resultPart,
  textParts,
  thoughtParts,
} from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { listOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

const ROLES: Readonly<Record<string, Role>> = {
  human: "user",
  ai: "assistant",
  system: "system",
  tool: "tool",
  function: "tool",
};

/**
 * Reads messages of LangChain: a list of them, an object with such a list in `messages`, or either on each line; as
 * `messages_to_dict`, `dumps` or `model_dump` write them.
 */
export const langchain: Importer = {
  name: "langchain",

  detect: (head) =>
    headElements(head).some(({ key, value }) => {
      const message = messageOf(key, value);
      return isObject(message) && plainMessage(message) !== undefined;
    }),

  read: (file) => readConversations(file, { name: "langchain", messageOf, entriesOf }),
};

const messageOf = itemsOf(undefined, "messages");

/** Returns the fields of a message, with its kind as `type`; undefined if it is none of LangChain's. */
export function plainMessage(value: JsonObject): JsonObject | undefined {
  const { lc, id, kwargs, type, data } = value;
  if (typeof lc === "number" && isObject(kwargs)) {
    const kind = /^(Human|AI|System|Tool|Function)Message(?:Chunk)?$/.exec(String(listOf(id).at(-1)))?.[1];
    return kind === undefined ? undefined : { ...kwargs, type: kind.toLowerCase() };
  }
  const kind = typeof type === "string" ? type.replace(/MessageChunk$/, "").toLowerCase() : "";
  if (!Object.hasOwn(ROLES, kind) || value.role !== undefined) return undefined;
  if (isObject(data)) return "content" in data ? { ...data, type: kind } : undefined;
  const isDumped = "additional_kwargs" in value || "response_metadata" in value || "tool_call_id" in value;
  return "content" in value && isDumped ? { ...value, type: kind } : undefined;
}

function entriesOf({ line, id, value }: ListedMessage): MessageEntry[] | string {
  const message = plainMessage(value);
  if (message === undefined) return `unknown kind of message: ${JSON.stringify(value.type ?? null)}`;
  return [langchainEntry(line, stringOf(message.id) ?? id, message, timeOf(value))];
}

export function langchainEntry(line: number, id: string, message: JsonObject, time: number | undefined): MessageEntry {
  const { type, content, name, tool_call_id, status, usage_metadata, response_metadata } = message;
  const role = ROLES[type as string]!;
  const parts = contentOf(content);
  if (role === "tool") {
    const toolCallId = stringOf(tool_call_id) ?? stringOf(name) ?? "unknown";
    const facts = { isError: status === "error" || undefined, name: stringOf(name) };
    return messageEntry(line, role, id, [resultPart(toolCallId, resultContentOf(parts), facts)], time);
  }
  if (role !== "assistant") return messageEntry(line, role, id, parts, time);
  const { model_name, model, token_usage } = objectOf(response_metadata);
  const about = saidOf({ model: model_name ?? model, usage: usage_metadata ?? token_usage });
  const thought = thoughtParts(objectOf(message.additional_kwargs).reasoning_content);
  return messageEntry(line, role, id, [...thought, ...parts, ...callsOf(message)], time, about);
}

/** Returns the calls. Older messages have them only as OpenAI's API gave them. */
function callsOf({ tool_calls, invalid_tool_calls, additional_kwargs }: JsonObject): Part[] {
  const given = [...objectsOf(tool_calls), ...objectsOf(invalid_tool_calls)];
  const calls = given.map((call) => callPart(call.id, call.name, call.args, call));
  return calls.length > 0 ? calls : objectsOf(objectOf(additional_kwargs).tool_calls).map(functionCallOf);
}

function contentOf(content: JsonValue | undefined): Part[] {
  return listOf(content).flatMap((block): Part[] => {
    if (typeof block === "string") return textParts(block);
    const { type, text, thinking, reasoning, signature, image_url } = objectOf(block);
    if (type === "text" && typeof text === "string") return textParts(text);
    const thought = stringOf(thinking) ?? stringOf(reasoning);
    if (thought !== undefined) return [{ type: "reasoning", text: thought, ...saidOf({ signature }) }];
    const url = stringOf(image_url) ?? stringOf(objectOf(image_url).url);
    if (url !== undefined) return [filePartOf(url, "image/*")];
    // The calls are in `tool_calls`, too.
    return ["tool_use", "tool_call", "function_call", "input_json_delta"].includes(String(type))
      ? []
      : [dataPartOf(block)];
  });
}
