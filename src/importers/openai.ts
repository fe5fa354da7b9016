import { fromOpenai, type OpenaiMessage } from "../adapters/openai.ts";
import type { JsonValue } from "../core/message.ts";
import { adapted } from "./adapted.ts";
import { type ListedMessage, readConversations, timeOf } from "./conversations.ts";
import { headEntries } from "./documents.ts";
import { type Draft, draftOf } from "./draft.ts";
import type { Importer } from "./importer.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { objectOf, stringOf } from "./values.ts";

const ROLES: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

/**
 * Messages of OpenAI's Chat Completions API: a list of them, an object with such a list in `messages` (a request; the answers
 * in its `choices` follow), or either on each line, as in files for fine-tuning.
 */
export const openai: Importer = {
  name: "openai",

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
  if (!ROLES.has(role)) return false;
  return typeof content === "string" || Array.isArray(content) || (tool_calls ?? function_call) !== undefined;
}

/** Ids and times are those of whoever wrote the file: no message of OpenAI's has any. */
function draftsOf({ line, id, value }: ListedMessage): Draft[] | string {
  const { id: _, createdAt: _c, created_at: _a, timestamp: _t, ...message } = value;
  // Before calls had ids, an answer was for the function of that name.
  if (message.role === "tool" && message.tool_call_id === undefined && stringOf(message.name))
    message.role = "function";
  const messages = adapted(() => fromOpenai(message as unknown as OpenaiMessage));
  if (typeof messages === "string") return messages;
  return messages.map(({ role, parts, name, metadata }) => {
    const draft = draftOf(line, role, id, parts, {
      createdAt: timeOf(value),
      metadata: { ...(metadata as JsonObject) },
    });
    if (name !== undefined) draft.message.name = name;
    return draft;
  });
}
