import { basename, dirname, join } from "node:path";
import type { JsonValue, Part } from "../../core/message.ts";
import { baseNameOf } from "../../core/project.ts";
import { textAt } from "../beside.ts";
import { fileNameOf } from "../conversations.ts";
import { headElements, readDocument, shapeOf } from "../documents.ts";
import { type MessageEntry, messageEntry, resultEntry } from "../entry.ts";
import type { Importer, ImportFile } from "../importer.ts";
import { type DamagedLine, headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "../lines.ts";
import { notYet } from "../message-event.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { derivedId, millisecondsOf, objectOf, objectsOf, saidOf, stringOf } from "../values.ts";
import { messagesOf, thoughtPartsOf } from "./content.ts";

/**
 * Reads the recordings of Gemini CLI up to version 0.61: `~/.gemini/tmp/<project>/chats/session-*.jsonl`, those of its subagents
 * in `chats/<session>/`, and the older `session-*.json`, one document each. Thoughts are imported too.
 */
export const geminiCli: Importer = {
  name: "gemini-cli",
  isFollowable: true,

  detect(head) {
    for (const { sessionId, projectHash, messages, type, id, content, $set, $rewindTo } of headObjects(head)) {
      if (stringOf(sessionId) && (stringOf(projectHash) || isRecords(messages))) return true;
      if (typeof $rewindTo === "string" || objectOf($set).lastUpdated !== undefined) return true;
      if (type === "gemini" && content !== undefined && stringOf(id)) return true;
    }
    const keys = new Set<string | undefined>();
    let hasRecord = false;
    for (const { key, value } of headElements(head)) {
      keys.add(key);
      // The fields of the session may be missing.
      const { id, type, content } = objectOf(value);
      if (key === "messages" && type === "gemini" && content !== undefined && stringOf(id)) return true;
      hasRecord ||= key === "messages" && isRecord(value);
    }
    return keys.has("sessionId") && (keys.has("projectHash") || hasRecord);
  },

  async *read(file) {
    const { isLines, file: looked } = await shapeOf(file);
    yield* new GeminiCliTranslator(file).translate(isLines ? readJsonLines(looked) : readRecords(looked));
  },
};

/** Reads an older file, one document, as lines: one for each record and each field. */
async function* readRecords(file: ImportFile): AsyncGenerator<JsonLine | DamagedLine> {
  for await (const element of readDocument(file)) {
    const { line } = element;
    if ("problem" in element) yield element;
    else if (element.key === "messages") yield { line, value: objectOf(element.value) };
    else if (element.key !== undefined) yield { line, value: { $set: { [element.key]: element.value } } };
    else yield { line, problem: "expected a field of a recording" };
  }
}

/** Records that the program only shows to its user. The model never sees them. */
const BOOKKEEPING_TYPES: ReadonlySet<unknown> = new Set(["info", "error", "warning"]);

function isRecord(value: JsonValue): boolean {
  const { type } = objectOf(value);
  return type === "user" || type === "gemini" || BOOKKEEPING_TYPES.has(type);
}

function isContext({ type, content }: JsonObject): boolean {
  const texts = typeof content === "string" ? [content] : objectsOf(content).map(({ text }) => text);
  return type === "user" && texts.length > 0 && texts.every((text) => /^\s*<session_context>/.test(String(text)));
}

function isRecords(messages: JsonValue | undefined): boolean {
  return Array.isArray(messages) && messages.every(isRecord);
}

/**
 * Translates the records of Gemini CLI.
 *
 * The program writes a record again, under the same id, when it knows more: the usage, calls, results. Only the new content is
 * added: the words as a message with the record's id, and one message for each call and each result. `$rewindTo` takes back the
 * record that it names and everything after it.
 *
 * A checkpoint, `$set` with `messages`, lists the messages that the model gets from now on. After a compression, these are a
 * summary and the newest messages. Here a checkpoint removes nothing. Its new content is added, and marked `isCompactSummary` if
 * the checkpoint leaves out earlier records.
 */
class GeminiCliTranslator extends Translator<JsonLine> {
  readonly #about: JsonObject = {};
  readonly #recordIds = new Set<string>();
  /** All content that was added, both with and without the id of its record. */
  readonly #known = new Set<string>();
  /** The state of the program, if the file has nothing else yet: a resumed session goes on in its first file. */
  #opening: { id: string; record: JsonObject; line: number } | undefined;
  #open: { id: string; reply: object } | undefined;

  protected override read({ value: record, line }: JsonLine): string | undefined {
    if (typeof record.$rewindTo === "string") {
      this.#open = undefined;
      this.branches()?.rewindTo(record.$rewindTo);
    } else if (isObject(record.$set)) this.#set(record.$set, line);
    else if (stringOf(record.id)) this.#addRecord(record.id as string, record, line, false);
    else if (record.sessionId !== undefined || record.messages !== undefined) this.#set(record, line);
    else return `unknown record: ${Object.keys(record).slice(0, 5).join(", ")}`;
  }

  protected override end(isFinished: boolean): void {
    if (this.#opening !== undefined && !isFinished) {
      this.warn(this.#opening.line, notYet("nothing was said after it"));
    }
  }

  #set({ messages, ...about }: JsonObject, line: number): void {
    Object.assign(this.#about, about);
    this.title = stringOf(this.#about.summary);
    if (!Array.isArray(messages)) return;
    const records = messages.filter(isObject);
    if (records.length < messages.length) this.warn(line, "messages: expected a list of objects");
    const ids = records.map(({ id }) => stringOf(id));
    const known = this.branches()?.keys ?? [];
    const isShorter = known.some((key) => !ids.includes(key));
    const keptFrom = ids.find((id) => id !== undefined && known.includes(id));
    const note = { isCompactSummary: true, ...(keptFrom !== undefined && { keptFrom }) };
    for (const record of records) {
      const id = stringOf(record.id) ?? derivedId(record.type, record.content);
      this.#addRecord(id, isShorter ? { ...record, ...note } : record, line, true);
    }
    if (records.length > 0) this.branches()?.keep(ids);
  }

  #addRecord(id: string, record: JsonObject, line: number, isCheckpoint: boolean): void {
    if (BOOKKEEPING_TYPES.has(record.type)) return;
    const opening = this.#opening;
    this.#opening = undefined;
    if (opening !== undefined && id !== opening.id) this.#add(opening.id, opening.record, opening.line, false);
    else if (this.#recordIds.size === 0 && !isCheckpoint && isContext(record)) {
      this.#opening = { id, record, line };
      return;
    }
    this.#add(id, record, line, isCheckpoint);
  }

  #add(id: string, record: JsonObject, line: number, isCheckpoint: boolean): void {
    if (record.type !== "user" && record.type !== "gemini") {
      this.warn(line, `unknown type of record: ${JSON.stringify(record.type)}`);
      return;
    }
    const isKnown = this.#recordIds.has(id);
    this.#recordIds.add(id);
    const entries = this.#newEntries(id, record, line, isKnown, isCheckpoint);
    const isOpen = this.#open?.id === id;
    const reply = isOpen ? this.#open!.reply : {};
    for (const entry of entries) if (entry.message.role === "assistant") entry.reply = reply;
    if (isOpen) this.branches()!.current.amend(metadataOf(record), reply);
    if (entries.length === 0) return;
    const branches = this.open();
    if (isKnown) branches.extend(entries, id);
    else {
      branches.add(entries, id);
      this.#open = { id, reply };
    }
  }

  #newEntries(id: string, record: JsonObject, line: number, isKnown: boolean, isCheckpoint: boolean): MessageEntry[] {
    const createdAt = millisecondsOf(record.timestamp);
    const toolCalls = objectsOf(record.toolCalls).map((call, index) => ({
      ...call,
      id: stringOf(call.id) ?? `${id}/call-${index}`,
    }));
    const counts = new Map<string, number>();
    const isNew = (part: Part): boolean => {
      const { type, toolCallId } = part;
      if (type === "tool_call") return this.#isNew(id, `call ${JSON.stringify(toolCallId)}`, isCheckpoint);
      // A `user` record that passes results to the model repeats those in the record of the calls.
      const mayRepeat = isCheckpoint || record.type === "user";
      if (type === "tool_result") return this.#isNew(id, `result ${JSON.stringify(toolCallId)}`, mayRepeat);
      if (isCheckpoint && isKnown) return false;
      const digest = derivedId(part);
      const count = (counts.get(digest) ?? 0) + 1;
      counts.set(digest, count);
      return this.#isNew(id, `${digest} ${count}`, isCheckpoint);
    };
    const entries: MessageEntry[] = [];
    for (const [index, { role, parts, metadata }] of messagesOf(record, toolCalls).entries()) {
      const thoughts = role === "assistant" ? thoughtPartsOf(record.thoughts) : [];
      const fresh = [...thoughts, ...parts].filter(isNew);
      if (role === "tool") {
        for (const part of fresh) {
          const entry = resultEntry(line, id, part, createdAt);
          const { status, agentId }: JsonObject = toolCalls.find((call) => call.id === part.toolCallId) ?? {};
          Object.assign(entry.message.metadata, saidOf({ status, agentId }));
          entries.push(entry);
        }
        continue;
      }
      const add = (entryId: string, said: Part[]): void => {
        const about = { ...metadataOf(record), ...metadata };
        if (said.length > 0) entries.push(messageEntry(line, role, entryId, said, createdAt, about));
      };
      const calls = fresh.filter(({ type }) => type === "tool_call");
      const words = fresh.filter((part) => !calls.includes(part));
      add(index === 0 ? id : `${id}/${index}`, words);
      for (const call of calls) add(`${id}/${call.toolCallId}`, [call]);
    }
    return entries;
  }

  /** With `mayRepeat`, the content must be new in the file: a checkpoint repeats content, sometimes under other record ids. */
  #isNew(recordId: string, said: string, mayRepeat: boolean): boolean {
    const own = `${recordId} ${said}`;
    if (this.#known.has(mayRepeat ? said : own)) return false;
    this.#known.add(own).add(said);
    return true;
  }

  protected override session(): SessionFacts {
    const { sessionId, projectHash, directories, kind } = this.#about;
    const name = stringOf(sessionId) ?? fileNameOf(this.file.path);
    const folder = dirname(this.file.path);
    // The folder of a subagent is named after the session that started it.
    const parent = kind === "subagent" ? basename(folder) : undefined;
    const chats = parent === undefined ? folder : dirname(folder);
    const cwd = folderOf(chats);
    return {
      externalId: parent === undefined ? name : `${parent}/${name}`,
      source: "gemini-cli",
      parentExternalId: parent,
      isSubagent: parent !== undefined,
      folder: cwd,
      project: cwd === undefined ? projectAt(chats, directories) : undefined,
      metadata: saidOf({ cwd, projectHash, directories }),
    };
  }
}

/** Returns the folder that newer versions note beside the recordings of a project. */
function folderOf(chats: string): string | undefined {
  return basename(chats) === "chats" ? stringOf(textAt(join(dirname(chats), ".project_root"))?.trim()) : undefined;
}

/** Returns the name in `~/.gemini/tmp/<project>/chats`, unless it is a hash, as in older versions. */
function projectAt(chats: string, directories: JsonValue | undefined): string | undefined {
  const folder = basename(dirname(chats));
  if (basename(chats) === "chats" && folder !== "" && !/^[0-9a-f]{64}$/.test(folder)) return folder;
  const [first] = Array.isArray(directories) ? directories : [];
  return typeof first === "string" && first !== "" ? baseNameOf(first) : undefined;
}

/** Returns what a record says besides its content: model, tokens, and whatever later versions add. */
function metadataOf({ id, timestamp, type, content, thoughts, toolCalls, ...rest }: JsonObject): JsonObject {
  return saidOf(rest);
}
