import type { JsonValue, Part } from "../core/message.ts";
import { headElements } from "./documents.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { type ExportedNode, readExport } from "./exported-conversations.ts";
import type { Importer } from "./importer.ts";
import { isObject, type JsonObject, valueIn } from "./lines.ts";
import { objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

const ROLES: Readonly<Record<string, "system" | "user" | "assistant" | "call" | "result">> = {
  system: "system",
  human: "user",
  user: "user",
  gpt: "assistant",
  chatgpt: "assistant",
  assistant: "assistant",
  bing: "assistant",
  bard: "assistant",
  function_call: "call",
  tool_call: "call",
  observation: "result",
  function_response: "result",
  tool_response: "result",
  tool: "result",
};

/**
 * Reads conversations in the form of ShareGPT: objects with `conversations`, a list of `{ from, value }`, in a list or on lines.
 * They have no times.
 */
export const sharegpt: Importer = {
  name: "sharegpt",

  detect(head) {
    for (const { key, value } of headElements(head)) {
      if (key === undefined && isConversation(value) && objectsOf(value.conversations).some(isTurn)) return true;
      if (key === "conversations" && isTurn(value)) return true;
    }
    return false;
  },

  read: (file) =>
    readExport(file, {
      name: "sharegpt",
      lists: ["conversations"],
      isConversation,
      sessionOf: ({ id, title, model, source }) => ({
        id: stringOf(id),
        title: stringOf(title),
        metadata: saidOf({ model, source }),
      }),
      shownIn: () => undefined,
      nodesOf,
      reader: turnReader,
    }),
};

function isConversation(value: JsonValue | undefined): value is JsonObject {
  return isObject(value) && Array.isArray(value.conversations);
}

function isTurn(value: JsonValue): boolean {
  const { from, value: words } = objectOf(value);
  return typeof from === "string" && Object.hasOwn(ROLES, from) && typeof words === "string";
}

function nodesOf({ system, conversations }: JsonObject): ExportedNode[] {
  const list = Array.isArray(conversations) ? conversations : [];
  const first = stringOf(system) === undefined ? [] : [{ from: "system", value: system! }];
  return [...first, ...list].map((value, index) => ({
    key: String(index),
    parent: index === 0 ? undefined : String(index - 1),
    value,
  }));
}

/** Calls have no ids. A result answers the oldest call without one. */
function turnReader(): (node: ExportedNode, line: number) => MessageEntry[] | string {
  let callCount = 0;
  const waiting: { toolCallId: string; name: string }[] = [];
  return ({ key, value }, line) => {
    const { from, value: words } = objectOf(value);
    const role = typeof from === "string" && Object.hasOwn(ROLES, from) ? ROLES[from] : undefined;
    if (role === undefined) return `unknown speaker: ${JSON.stringify(from ?? null)}`;
    if (typeof words !== "string") return "value: expected a text";
    if (words === "") return [];
    if (role !== "call" && role !== "result") {
      return [messageEntry(line, role, key, [{ type: "text", text: words }], undefined)];
    }
    const call = role === "result" ? waiting.shift() : undefined;
    if (call !== undefined)
      return [messageEntry(line, "tool", key, [{ ...call, type: "tool_result", content: words }], undefined)];
    // An answer to a call that is written as text, as in some files.
    if (role === "result")
      return [messageEntry(line, "user", key, [{ type: "text", text: words, injected: true }], undefined)];
    const calls = callsIn(words).map(({ name, args }) => ({ toolCallId: `call-${++callCount}`, name, args }));
    waiting.push(...calls.map(({ toolCallId, name }) => ({ toolCallId, name })));
    const parts: Part[] =
      calls.length === 0
        ? [{ type: "text", text: words }]
        : calls.map((one) => ({ type: "tool_call" as const, ...one }));
    return [messageEntry(line, "assistant", key, parts, undefined)];
  };
}

/** Returns the calls in a text: one as JSON, or a list of them. */
function callsIn(words: string): { name: string; args: JsonValue }[] {
  return objectsOf([valueIn(words, null)].flat()).flatMap(({ name, arguments: args, parameters }) =>
    stringOf(name) === undefined ? [] : [{ name: name as string, args: args ?? parameters ?? {} }],
  );
}
