import type { JsonValue, Part } from "../core/message.ts";
import { headElements } from "./documents.ts";
import { type MessageEntry, messageEntry, resultEntry } from "./entry.ts";
import { type ExportedNode, readExport } from "./exported-conversations.ts";
import { dataPartOf, type PlainPart, resultContentOf, resultPart, resultTextOf, textParts } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { millisecondsOf, objectOf, objectsOf, saidOf, shortFieldsOf, stringOf } from "./values.ts";

/**
 * Reads the `conversations.json` of an account export of Claude.ai: a list of conversations, each with its messages in
 * `chat_messages`. A conversation alone in a file is read too. The export names no models.
 */
export const claudeAi: Importer = {
  name: "claude-ai",

  detect(head) {
    for (const { key, value } of headElements(head)) {
      if (key === undefined && isConversation(value)) return true;
      if (key === "chat_messages" && isMessage(value)) return true;
    }
    return false;
  },

  read: (file) =>
    readExport(file, {
      name: "claude-ai",
      lists: ["chat_messages"],
      isConversation,
      sessionOf({ uuid, name, created_at, summary, model, project }) {
        return {
          id: stringOf(uuid),
          project: stringOf(objectOf(project).name),
          title: stringOf(name),
          createdAtMs: millisecondsOf(created_at),
          metadata: saidOf({ model, summary: stringOf(summary) }),
        };
      },
      shownIn: ({ current_leaf_message_uuid: leaf }) => stringOf(leaf),
      nodesOf,
      reader: () => entriesOf,
    }),
};

function isConversation(value: JsonValue | undefined): value is JsonObject {
  return isObject(value) && Array.isArray(value.chat_messages) && stringOf(value.uuid) !== undefined;
}

function isMessage(value: JsonValue): boolean {
  const { sender, uuid } = objectOf(value);
  return (sender === "human" || sender === "assistant") && stringOf(uuid) !== undefined;
}

/** Older exports do not say which message a message answers: they list one path. */
function nodesOf({ chat_messages }: JsonObject): ExportedNode[] {
  const list = Array.isArray(chat_messages) ? chat_messages : [];
  const isTree = list.some((message) => stringOf(objectOf(message).parent_message_uuid));
  let before: string | undefined;
  return list.map((value, index) => {
    const { uuid, parent_message_uuid } = objectOf(value);
    const key = stringOf(uuid) ?? `message-${index}`;
    const parent = isTree ? stringOf(parent_message_uuid) : before;
    before = key;
    return { key, parent, value };
  });
}

/**
 * Returns a message for each model call of a turn, and one for each result. The second message of the model is called `<id>/1`, a
 * result `<id of the message with the call>:<id of the call>`.
 */
function entriesOf({ key, value }: ExportedNode, line: number): MessageEntry[] | string {
  if (!isObject(value)) return "expected a message";
  const { sender, created_at } = value;
  const time = millisecondsOf(created_at);
  const about = saidOf({ truncated: value.truncated === true ? true : null });
  const isOld = !Array.isArray(value.content) || value.content.length === 0;
  const blocks = isOld ? [{ type: "text", text: value.text ?? "" }] : (value.content as JsonValue[]);
  const files = [...objectsOf(value.attachments).flatMap(attachmentOf), ...objectsOf(value.files).flatMap(fileOf)];
  if (sender === "human") {
    const parts = [...blocks.flatMap(partsOf), ...files];
    return parts.length === 0 ? [] : [messageEntry(line, "user", key, parts, time, about)];
  }
  if (sender !== "assistant") return `sender: expected human or assistant, got ${JSON.stringify(sender ?? null)}`;
  return turnEntries(line, key, blocks, files, time, about);
}

function turnEntries(
  line: number,
  key: string,
  blocks: readonly JsonValue[],
  files: readonly Part[],
  time: number | undefined,
  about: JsonObject,
): MessageEntry[] {
  const entries: MessageEntry[] = [];
  let said: Part[] = [];
  let count = 0;
  /** Calls without a result. Older exports give them no ids. */
  const calls: { id: string; name: string }[] = [];
  const idOf = (index: number): string => (index === 0 ? key : `${key}/${index}`);
  const endCall = (): void => {
    if (said.length === 0) return;
    entries.push(messageEntry(line, "assistant", idOf(count), said, time, about));
    said = [];
    count += 1;
  };
  let callerId = key;
  for (const [index, block] of blocks.entries()) {
    const { type, id, name, input, tool_use_id, content, is_error } = objectOf(block);
    if (type === "tool_use" && stringOf(name)) {
      const call = { id: stringOf(id) ?? `${key}/call-${index}`, name: name as string };
      calls.push(call);
      callerId = idOf(count);
      said.push({ type: "tool_call", toolCallId: call.id, name: call.name, args: input ?? {} });
    } else if (type === "tool_result") {
      endCall();
      const at = calls.findIndex((call) => (stringOf(tool_use_id) ? call.id === tool_use_id : call.name === name));
      const [call] = at === -1 ? [] : calls.splice(at, 1);
      const toolCallId = call?.id ?? stringOf(tool_use_id) ?? `${key}/call-${index}`;
      const facts = { name: stringOf(name), isError: is_error === true || undefined };
      entries.push(resultEntry(line, callerId, resultPart(toolCallId, resultOf(content), facts), time));
    } else said.push(...partsOf(block));
  }
  said.push(...files);
  endCall();
  return entries;
}

function resultOf(content: JsonValue | undefined): string | PlainPart[] {
  if (!Array.isArray(content)) return resultTextOf(content);
  const parts = content.flatMap(partsOf).filter((part) => part.type !== "reasoning");
  return parts.length === 0 ? [] : resultContentOf(parts);
}

function partsOf(block: JsonValue): Part[] {
  const {
    type,
    text,
    thinking,
    citations,
    source,
    start_timestamp: _s,
    stop_timestamp: _e,
    flags: _f,
    ...rest
  } = objectOf(block);
  if (type === "text" && typeof text === "string") {
    return text === "" ? [] : [{ type, text, ...saidOf({ citations }) }];
  }
  if (type === "thinking" && typeof thinking === "string") {
    return [{ type: "reasoning", text: thinking, ...saidOf({ summaries: rest.summaries, signature: rest.signature }) }];
  }
  const { data, media_type } = objectOf(source);
  if (type === "image" && typeof data === "string" && stringOf(media_type)) {
    return [{ type: "file", mediaType: media_type as string, data }];
  }
  return block === null || type === "token_budget" ? [] : [dataPartOf(block)];
}

/** A long text that the user pasted is an attachment without a name. */
function attachmentOf({ file_name, file_type, extracted_content: text, ...rest }: JsonObject): Part[] {
  const words = textParts(text);
  if (!stringOf(file_name)) return words;
  const mediaType = stringOf(file_type)?.includes("/") ? (file_type as string) : mediaTypeOf(file_name as string);
  return [{ type: "file", ...shortFieldsOf(rest), mediaType, name: file_name as string }, ...words];
}

/** The export has the names of files, not their content. */
function fileOf({ file_name, file_uuid }: JsonObject): Part[] {
  const name = stringOf(file_name);
  if (name === undefined) return [];
  return [{ type: "file", mediaType: mediaTypeOf(name), name, ...saidOf({ file_uuid }) }];
}

function mediaTypeOf(name: string): string {
  const [, ending] = /\.(png|jpe?g|gif|webp)$/i.exec(name) ?? [];
  return ending === undefined ? "application/octet-stream" : `image/${ending.toLowerCase().replace("jpg", "jpeg")}`;
}
