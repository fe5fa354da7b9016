import { type AnthropicMessage, fromAnthropic } from "../adapters/anthropic.ts";
import { fromOpenai, type OpenaiMessage } from "../adapters/openai.ts";
import type { JsonValue } from "../core/message.ts";
import { amp } from "./amp.ts";
import { cline, clineCli } from "./cline.ts";
import { type ListedMessage, readConversations, timeOf } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { adapted, type MessageEntry, messageEntry } from "./entry.ts";
import { goose } from "./goose/importer.ts";
import type { Importer } from "./importer.ts";
import { kimi } from "./kimi.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { objectOf, objectsOf, stringOf } from "./values.ts";

const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

/** Formats whose messages look like those of OpenAI or Anthropic. */
const OTHERS: readonly Importer[] = [amp, cline, clineCli, goose, kimi];

/** A message with one of these fields is in another format. */
const FOREIGN_FIELDS = ["session", "type", "parts", "toolInvocations"];

/** Blocks that only messages of Anthropic have. An image or a document is one if it has a `source`. */
const ANTHROPIC_BLOCKS: ReadonlySet<unknown> = new Set([
  "tool_use",
  "tool_result",
  "thinking",
  "redacted_thinking",
  "server_tool_use",
  "web_search_tool_result",
]);

/**
 * Reads messages of OpenAI's Chat Completions API: a list of them, an object with such a list in `messages` (a request, maybe
 * with the answers in `choices`), or either on each line, as in files for fine-tuning. Messages of Anthropic's Messages API are
 * read too.
 */
export const openai: Importer = {
  name: "openai",

  detect(head) {
    if (OTHERS.some((other) => other.detect(head))) return false;
    for (const { key, value } of headElements(head)) {
      const message = messageOf(key, value);
      if (!isObject(message) || !isMessage(message)) continue;
      const entries = entriesOf({ line: 0, id: "0", value: message });
      if (typeof entries === "string") continue;
      const parts = entries.flatMap((entry) => entry.message.parts);
      if (parts.length === 0 || parts.some((part) => part.type !== "data")) return true;
    }
    return false;
  },

  read: (file) => readConversations(file, { name: "openai", messageOf, entriesOf }),
};

function messageOf(key: string | undefined, item: JsonValue): JsonValue | undefined {
  if (key === undefined || key === "messages") return item;
  return key === "choices" ? (objectOf(item).message ?? null) : undefined;
}

function isMessage(message: JsonObject): boolean {
  const { role, content, tool_calls, function_call } = message;
  if (!ROLES.has(role)) return false;
  // A reply of Anthropic has the type `message`.
  const { type, ...fields } = message;
  const own = isAnthropic(message) && type === "message" ? fields : message;
  if (FOREIGN_FIELDS.some((field) => own[field] !== undefined)) return false;
  return typeof content === "string" || Array.isArray(content) || (tool_calls ?? function_call) !== undefined;
}

function isAnthropic({ content }: JsonObject): boolean {
  return objectsOf(content).some(({ type, source }) => ANTHROPIC_BLOCKS.has(type) || isObject(source));
}

/** Ids and times come from the program that wrote the file. OpenAI's messages have none. */
function entriesOf({ line, id, value }: ListedMessage): MessageEntry[] | string {
  const { id: _, createdAt: _c, created_at: _a, timestamp: _t, ts: _s, ...message } = value;
  if (isAnthropic(message)) {
    const said = adapted(() => fromAnthropic(message as unknown as AnthropicMessage));
    if (typeof said === "string") return said;
    return said.map(({ role, parts, metadata }) => {
      const isResult = role === "tool" && said.length > 1;
      return messageEntry(line, role, isResult ? `${id}:result` : id, parts, timeOf(value), metadata);
    });
  }
  // Before calls had ids, a result named its function.
  if (message.role === "tool" && message.tool_call_id === undefined && stringOf(message.name))
    message.role = "function";
  const messages = adapted(() => fromOpenai(message as unknown as OpenaiMessage));
  if (typeof messages === "string") return messages;
  return messages.map(({ role, parts, name, metadata }) => {
    const entry = messageEntry(line, role, id, parts, timeOf(value), metadata);
    if (name !== undefined) entry.message.name = name;
    return entry;
  });
}
