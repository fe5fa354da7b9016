import type { JsonValue, Part } from "../core/message.ts";
import { timeOf } from "./conversations.ts";
import { headElements } from "./documents.ts";
import { type MessageEntry, messageEntry, resultEntry } from "./entry.ts";
import { type ExportedNode, readExport } from "./exported-conversations.ts";
import { filePartOf, textParts } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { isObject, type JsonObject, valueIn } from "./lines.ts";
import { derivedId, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/** Reads chats that Open WebUI exports: a list of them, or one. Each is a tree of messages in `chat.history`. */
export const openWebui: Importer = {
  name: "open-webui",

  detect: (head) =>
    headElements(head).some(({ key, value }) => (key === undefined ? isChat(value) : key === "chat" && isTree(value))),

  read: (file) =>
    readExport(file, {
      name: "open-webui",
      lists: [],
      isConversation: isChat,
      sessionOf({ id, title, chat, created_at }) {
        const { title: heading, models, timestamp } = objectOf(chat);
        return {
          id: stringOf(id),
          title: stringOf(title) ?? stringOf(heading),
          createdAtMs: timeOf(saidOf({ created_at, timestamp })),
          metadata: saidOf({ models }),
        };
      },
      shownIn: ({ chat }) => stringOf(objectOf(objectOf(chat).history).currentId),
      nodesOf: ({ chat }) =>
        Object.entries(objectOf(objectOf(objectOf(chat).history).messages)).map(([key, value]) => ({
          key,
          parent: stringOf(objectOf(value).parentId),
          value,
        })),
      reader: () => entriesOf,
    }),
};

function isChat(value: JsonValue | undefined): value is JsonObject {
  return isObject(value) && isTree(value.chat);
}

function isTree(chat: JsonValue | undefined): boolean {
  const { messages } = objectOf(objectOf(chat).history);
  return isObject(messages) && Object.values(messages).some((one) => "parentId" in objectOf(one));
}

/** A thought or a use of a tool, which Open WebUI writes into the text of an answer. */
const DETAILS =
  /<details type="(reasoning|tool_calls|code_interpreter)"([^>]*)>\n?(?:<summary>[^<]*<\/summary>\n?)?([\s\S]*?)<\/details>\n?/g;

function entriesOf({ key, value }: ExportedNode, line: number): MessageEntry[] | string {
  const { role, content, timestamp, files, usage, info, model } = objectOf(value);
  if (role !== "user" && role !== "assistant" && role !== "system")
    return `unknown role: ${JSON.stringify(role ?? null)}`;
  if (typeof content !== "string") return "content: expected a text";
  const time = timeOf(saidOf({ timestamp }));
  const images = objectsOf(files).flatMap(({ type, url }) =>
    type === "image" && typeof url === "string" ? [filePartOf(url, "image/*")] : [],
  );
  if (role !== "assistant") {
    const parts: Part[] = [...textParts(content), ...images];
    return parts.length === 0 ? [] : [messageEntry(line, role, key, parts, time)];
  }
  const about = saidOf({ model, usage: usage ?? info });
  const entries: MessageEntry[] = [];
  let parts: Part[] = [];
  const flush = (): void => {
    const id = entries.length === 0 ? key : `${key}/${entries.length}`;
    if (parts.length > 0)
      entries.push(messageEntry(line, "assistant", id, parts, time, entries.length === 0 ? about : {}));
    parts = [];
  };
  const say = (text: string): void => {
    if (text.trim() !== "") parts.push({ type: "text", text: text.trim() });
  };
  let end = 0;
  for (const { 0: whole, 1: kind, 2: attributes = "", 3: inside = "", index } of content.matchAll(DETAILS)) {
    say(content.slice(end, index));
    end = index + whole.length;
    if (kind === "reasoning") parts.push({ type: "reasoning", text: inside.replace(/^> ?/gm, "").trim() });
    else if (kind === "code_interpreter") parts.push({ type: "text", text: inside.trim() });
    else {
      const given = attributesIn(attributes);
      const toolCallId = given.id || derivedId(key, index).slice(0, 8);
      const args = valueIn(given.arguments ?? "{}", given.arguments!);
      parts.push({ type: "tool_call", toolCallId, name: given.name || "tool", args });
      flush();
      const answer = given.result === undefined ? undefined : valueIn(given.result);
      const result = typeof answer === "string" ? answer : given.result;
      if (result) entries.push(resultEntry(line, key, { type: "tool_result", toolCallId, content: result }, time));
    }
  }
  say(content.slice(end));
  flush();
  return entries;
}

const ENTITIES: Readonly<Record<string, string>> = { quot: '"', amp: "&", lt: "<", gt: ">", "#x27": "'", "#39": "'" };

function attributesIn(text: string): Record<string, string> {
  const found = [...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, given]) => {
    return [name!, given!.replace(/&(quot|amp|lt|gt|#x27|#39);/g, (_, entity: string) => ENTITIES[entity]!)] as const;
  });
  return Object.fromEntries(found);
}
