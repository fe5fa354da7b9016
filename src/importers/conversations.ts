import { basename, extname, resolve } from "node:path";
import type { JsonValue } from "../core/message.ts";
import { derivedId } from "./derived-id.ts";
import { readEntries } from "./documents.ts";
import type { Draft } from "./draft.ts";
import type { ImportEvent, ImportedSession, ImportFile } from "./importer.ts";
import { isObject, type JsonObject } from "./lines.ts";
import { notYet } from "./message-event.ts";
import { Thread } from "./thread.ts";
import { millisecondsOf, saidOf, stringOf } from "./values.ts";

/** A message as it stands in a list, and what to call it: its own id, or its place. */
export interface ListedMessage {
  line: number;
  id: string;
  value: JsonObject;
}

/** What a format makes of the messages in its lists. */
export interface ListFormat {
  format: string;
  /** The message in an item of the list `key`, undefined for an item of a file that is nothing but a list; or nothing. */
  messageOf(key: string | undefined, item: JsonValue): JsonValue | undefined;
  /** Whether a message is only half there, as far as it says so itself: it waits, unless nothing more will be written. */
  isOpen?(message: JsonObject): boolean;
  /** @returns Its messages, or why it has none. */
  draftsOf(message: ListedMessage): Draft[] | string;
}

/**
 * Conversations as lists of messages, in a document or one on each line, with or without something about each beside it.
 *
 * A conversation is called by its `id` if that stands before its messages; else by its file, so that the same file brings the
 * same session, and others of that name do not. A message without an id is called by its place: where the list was changed
 * and not only made longer, the store holds a different message under that name, which is reported.
 */
export async function* readConversations(file: ImportFile, format: ListFormat): AsyncGenerator<ImportEvent> {
  let current: Conversation | undefined;
  for await (const entry of readEntries(file)) {
    const { line } = entry;
    if ("problem" in entry) {
      if (current !== undefined) current.index++;
      yield { kind: "warning", line, reason: entry.problem };
      continue;
    }
    const { document, key, value } = entry;
    if (current?.document !== document) {
      if (current?.thread !== undefined) yield* current.thread.finish(true);
      current = { document, about: {}, index: 0, thread: undefined };
    }
    const item = format.messageOf(key, value);
    if (item === undefined) {
      if (key !== undefined) current.about[key] = value;
      else yield { kind: "warning", line, reason: "expected a message" };
      continue;
    }
    const place = String(current.index++);
    if (!isObject(item)) {
      yield { kind: "warning", line, reason: "expected a message, as an object" };
      continue;
    }
    if (!file.isFinished && format.isOpen?.(item)) {
      yield notYet(line, "the message is still being written");
      continue;
    }
    const drafts = format.draftsOf({ line, id: stringOf(item.id) ?? place, value: item });
    if (typeof drafts === "string") {
      yield { kind: "warning", line, reason: drafts };
      continue;
    }
    current.thread ??= new Thread(sessionOf(file.path, format.format, current));
    for (const draft of drafts) yield* current.thread.push(draft);
  }
  if (current?.thread !== undefined) yield* current.thread.finish(file.isFinished === true);
}

interface Conversation {
  document: number;
  about: JsonObject;
  /** Messages so far, those that could not be read included. */
  index: number;
  thread: Thread | undefined;
}

function sessionOf(path: string, source: string, { document, about }: Conversation): ImportedSession {
  const { id, chatId, conversation_id, title, name, ...rest } = about;
  const own = stringOf(id) ?? stringOf(chatId) ?? stringOf(conversation_id);
  const session: ImportedSession = { externalId: own ?? fileNameOf(path, document), source };
  const heading = stringOf(title) ?? stringOf(name);
  if (heading !== undefined) session.title = heading;
  const createdAtMs = timeOf(about);
  if (createdAtMs !== undefined) session.createdAtMs = createdAtMs;
  const { tools: _, ...metadata } = rest;
  session.metadata = saidOf(metadata);
  return session;
}

/** What to call a conversation by its file: others of that name are called something else. `document` is its place in the file. */
export function fileNameOf(path: string, document = 0): string {
  const name = path === "-" ? "stdin" : basename(path, extname(path));
  const file = `${name}-${derivedId(path === "-" ? path : resolve(path)).slice(0, 8)}`;
  return document === 0 ? file : `${file}#${document + 1}`;
}

/** Unix milliseconds of what was created then; APIs give seconds. */
export function timeOf({ createdAt, created_at, timestamp, created }: JsonObject): number | undefined {
  for (const value of [createdAt, created_at, timestamp, created]) {
    const time = millisecondsOf(value);
    if (time !== undefined) return typeof value === "number" && value < 1e11 ? Math.trunc(value * 1_000) : time;
  }
  return undefined;
}
