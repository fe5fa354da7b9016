import { basename, extname, resolve } from "node:path";
import type { JsonValue } from "../core/message.ts";
import type { Element } from "./document-scanner.ts";
import { readElements } from "./documents.ts";
import type { MessageEntry } from "./entry.ts";
import type { ImportEvent, ImportFile } from "./importer.ts";
import { type DamagedLine, isObject, type JsonObject } from "./lines.ts";
import { notYet } from "./message-event.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf, saidOf, stringOf } from "./values.ts";

export interface ListedMessage {
  line: number;
  /** The message's own id, or else its index in the list. */
  id: string;
  value: JsonObject;
}

interface ListFormat {
  name: string;
  /** Set if the messages are not in the file itself. */
  elements?: AsyncIterable<Element | DamagedLine>;
  /** Returns the message in an item of the list `key`, or undefined. `key` is undefined if the file is only a list. */
  messageOf(key: string | undefined, item: JsonValue): JsonValue | undefined;
  /** Returns true if the message says that it is incomplete. Such a message waits, unless the file is finished. */
  isOpen?(message: JsonObject): boolean;
  /** Returns what else is known of a session: by the path of its file, or by the fields before the list. */
  about?(fields: JsonObject): Partial<SessionFacts>;
  /** Returns the key of a message that names the one before it; `after` is null if there is none. Such files have branches. */
  linkOf?(message: JsonObject): { key: string; after: string | null } | undefined;
  /** Converts a message, or returns the reason why it cannot be converted. */
  entriesOf(message: ListedMessage, fields: JsonObject): MessageEntry[] | string;
}

/**
 * Reads conversations that are lists of messages: one document, or one on each line, with or without fields beside the list.
 *
 * A session's id is the `id` that comes before the list, or else is made from the path of the file. A message without an id gets
 * its index as its id. If the list was changed before its end, the store already has another message under that id and reports
 * the difference.
 */
export function readConversations(file: ImportFile, format: ListFormat): AsyncIterable<ImportEvent> {
  return new ListTranslator(file, format).translate(format.elements ?? readElements(file));
}

/** Returns a function for the messages in lists with these names; undefined is a file that is only a list. */
export function itemsOf(...lists: (string | undefined)[]): ListFormat["messageOf"] {
  return (key, item) => (lists.includes(key) ? item : undefined);
}

class ListTranslator extends Translator<Element, ListFormat> {
  #document = -1;
  #about: JsonObject = {};
  /** Messages of the document so far, including those that cannot be read. */
  #count = 0;

  protected override skip(): void {
    this.#count++;
  }

  protected override isTelling({ key, value }: Element): boolean {
    return this.given.messageOf(key, value) !== undefined;
  }

  protected override read({ line, document, key, value }: Element): MessageEntry[] | string | undefined {
    if (document !== this.#document) {
      this.finish(true);
      this.#document = document;
      this.#about = {};
      this.#count = 0;
    }
    const item = this.given.messageOf(key, value);
    if (item === undefined) {
      if (key === undefined) return "expected a message";
      this.#about[key] = value;
      return;
    }
    if (!Array.isArray(item)) return this.#readMessage(item, line);
    for (const one of item) {
      const said = this.#readMessage(one, line);
      if (typeof said === "string") this.warn(line, said);
      else if (said.length > 0) this.open().add(said);
    }
  }

  #readMessage(item: JsonValue, line: number): MessageEntry[] | string {
    const index = String(this.#count++);
    if (!isObject(item)) return "expected a message, as an object";
    if (!this.file.isFinished && this.given.isOpen?.(item)) return notYet("the message is still being written");
    const link = this.given.linkOf?.(item);
    if (link !== undefined) this.open().followTree({ ...link, line });
    return this.given.entriesOf({ line, id: stringOf(item.id) ?? index, value: item }, this.#about);
  }

  protected override session(): SessionFacts {
    const { id, chatId, conversation_id, title, name, tools: _, ...rest } = this.#about;
    const own = stringOf(id) ?? stringOf(chatId) ?? stringOf(conversation_id);
    const about = this.given.about?.(this.#about);
    return {
      externalId: own ?? fileNameOf(this.file.path, this.#document),
      source: this.given.name,
      ...about,
      title: stringOf(title) ?? stringOf(name) ?? about?.title,
      createdAtMs: timeOf(this.#about),
      metadata: about?.metadata ?? saidOf(rest),
    };
  }
}

/** Returns an id for the conversation at index `document` of a file. The id depends on the whole path. */
export function fileNameOf(path: string, document = 0): string {
  const name = path === "-" ? "stdin" : basename(path, extname(path));
  const file = `${name}-${derivedId(path === "-" ? path : resolve(path)).slice(0, 8)}`;
  return document === 0 ? file : `${file}#${document + 1}`;
}

/** Returns the time of creation in Unix milliseconds. Numbers below 1e11 are seconds, as in the APIs. */
export function timeOf({ createdAt, created_at, timestamp, created, ts }: JsonObject): number | undefined {
  for (const value of [createdAt, created_at, timestamp, created, ts]) {
    const time = millisecondsOf(value);
    if (time !== undefined)
      return typeof value === "number" && Math.abs(value) < 1e11 ? Math.trunc(value * 1_000) : time;
  }
  return undefined;
}
