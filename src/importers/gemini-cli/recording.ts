import { basename, dirname } from "node:path";
import type { JsonValue, Part } from "../../core/message.ts";
import { Branches } from "../branches.ts";
import { fileNameOf } from "../conversations.ts";
import { derivedId } from "../derived-id.ts";
import { type Draft, draftOf } from "../draft.ts";
import type { ImportEvent, ImportedSession } from "../importer.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { resultDraftOf } from "../steps.ts";
import type { Thread } from "../thread.ts";
import { millisecondsOf, objectsOf, projectOf, saidOf, stringOf } from "../values.ts";
import { messagesOf, thoughtPartsOf } from "./content.ts";

/** Records by which the program speaks to its user; the model never sees them. */
const BOOKKEEPING_TYPES: ReadonlySet<unknown> = new Set(["info", "error", "warning"]);

/**
 * One recording of Gemini CLI, taken in record by record.
 *
 * A record is written anew, under its id, each time something of it becomes known: its usage, its calls, their results.
 * Whatever it says that it did not say before is added: its words are a message of its name, each call one, each result one. `$rewindTo` takes back that message and all
 * after it. A checkpoint, `$set` with `messages`, is what the program sends to the model from now on: after a compression,
 * a summary and the newest messages. It takes nothing away here; what it says that was not said before is added, and marked
 * `isCompactSummary` where the checkpoint leaves out what came before.
 */
export class Recording {
  readonly #path: string;
  readonly #about: JsonObject = {};
  readonly #recordIds = new Set<string>();
  /** What each record has said, so that only news is added. */
  readonly #said = new Set<string>();
  readonly #calls = new Set<string>();
  readonly #answers = new Set<string>();
  #branches: Branches | undefined;
  /** The newest record, whose messages are one reply. */
  #open: { id: string; thread: Thread; reply: object } | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Take in a line, or a whole file of the older kind as `{ messages: […] }` piece by piece. */
  *add(record: JsonObject, line: number): Generator<ImportEvent> {
    if (typeof record.$rewindTo === "string") {
      this.#open = undefined;
      this.#branches?.backTo(record.$rewindTo);
    } else if (isObject(record.$set)) yield* this.#set(record.$set, line);
    else if (stringOf(record.id)) yield* this.#record(record.id as string, record, line, false);
    else if (record.sessionId !== undefined || record.messages !== undefined) yield* this.#set(record, line);
    else yield { kind: "warning", line, reason: `unknown record: ${Object.keys(record).slice(0, 5).join(", ")}` };
  }

  /** What would come if the file ended here. @param isFinished  Nothing was written for long. */
  *pause(isFinished: boolean): Generator<ImportEvent> {
    this.#nameRoot();
    if (this.#branches !== undefined) yield* this.#branches.pause(isFinished);
  }

  *finish(isFinished: boolean): Generator<ImportEvent> {
    this.#nameRoot();
    if (this.#branches !== undefined) yield* this.#branches.finish(isFinished);
  }

  #nameRoot(): void {
    const title = stringOf(this.#about.summary);
    if (this.#branches !== undefined && title !== undefined) this.#branches.root.title ??= title;
  }

  *#set({ messages, ...about }: JsonObject, line: number): Generator<ImportEvent> {
    Object.assign(this.#about, about);
    if (!Array.isArray(messages)) return;
    const records = messages.filter(isObject);
    if (records.length < messages.length) {
      yield { kind: "warning", line, reason: "messages: expected a list of objects" };
    }
    const ids = records.map(({ id }) => stringOf(id));
    const isShorter = this.#branches?.keys.some((key) => !ids.includes(key)) ?? false;
    for (const record of records) {
      const id = stringOf(record.id) ?? derivedId(record.type, record.content);
      yield* this.#record(id, isShorter ? { ...record, isCompactSummary: true } : record, line, true);
    }
    if (records.length > 0) this.#branches?.keep(ids);
  }

  *#record(id: string, record: JsonObject, line: number, isCheckpoint: boolean): Generator<ImportEvent> {
    if (BOOKKEEPING_TYPES.has(record.type)) return;
    if (record.type !== "user" && record.type !== "gemini") {
      yield { kind: "warning", line, reason: `unknown type of record: ${JSON.stringify(record.type)}` };
      return;
    }
    const isKnown = this.#recordIds.has(id);
    this.#recordIds.add(id);
    const drafts = this.#newsOf(id, record, line, isKnown, isCheckpoint);
    const reply = this.#open?.id === id ? this.#open.reply : {};
    for (const draft of drafts) if (draft.message.role === "assistant") draft.reply = reply;
    if (isKnown && this.#open?.id === id) yield* this.#extend(record, drafts);
    else if (isKnown) for (const draft of drafts) yield* (this.#branches?.threadOf(id) ?? this.#thread).push(draft);
    else if (drafts.length > 0) {
      this.#open = undefined;
      this.#branches ??= new Branches(this.#session());
      yield* this.#branches.push(id, drafts);
      this.#open = { id, thread: this.#thread, reply };
    }
  }

  /** What the newest record says beyond what it said before. */
  *#extend(record: JsonObject, drafts: readonly Draft[]): Generator<ImportEvent> {
    const { thread, reply } = this.#open!;
    const { assistant } = thread;
    if (assistant?.reply === reply) Object.assign(assistant.message.metadata, metadataOf(record));
    for (const draft of drafts) {
      yield* thread.push(draft);
      this.#branches!.prolong(draft.message.id);
    }
  }

  /** The messages that a record comes to, without what was known of it. */
  #newsOf(id: string, record: JsonObject, line: number, isKnown: boolean, isCheckpoint: boolean): Draft[] {
    const createdAt = millisecondsOf(record.timestamp);
    const toolCalls = objectsOf(record.toolCalls).map((call, index) => ({
      ...call,
      id: stringOf(call.id) ?? `${id}/call-${index}`,
    }));
    const counts = new Map<string, number>();
    const isNews = (part: Part): boolean => {
      if (part.type === "tool_call") return isFresh(this.#calls, id, part, isCheckpoint);
      // A turn that hands answers over repeats those of the record whose calls they answer.
      if (part.type === "tool_result") return isFresh(this.#answers, id, part, isCheckpoint || record.type === "user");
      if (isCheckpoint && isKnown) return false;
      const digest = derivedId(part);
      const count = (counts.get(digest) ?? 0) + 1;
      counts.set(digest, count);
      return this.#isNew(id, `${digest} ${count}`, isCheckpoint);
    };
    const drafts: Draft[] = [];
    for (const [index, { role, parts, metadata }] of messagesOf(record, toolCalls).entries()) {
      const thoughts = role === "assistant" ? thoughtPartsOf(record.thoughts) : [];
      const news = [...thoughts, ...parts].filter(isNews);
      if (role !== "tool") {
        const say = (sayId: string, said: Part[]): void => {
          const about = { createdAt, metadata: { ...metadataOf(record), ...(metadata as JsonObject) } };
          if (said.length > 0) drafts.push(draftOf(line, role, sayId, said, about));
        };
        const calls = news.filter(({ type }) => type === "tool_call");
        say(
          index === 0 ? id : `${id}/${index}`,
          news.filter((part) => !calls.includes(part)),
        );
        for (const call of calls) say(`${id}/${call.toolCallId}`, [call]);
        continue;
      }
      for (const part of news) {
        const draft = resultDraftOf(line, id, part, createdAt);
        const { status, agentId }: JsonObject = toolCalls.find((call) => call.id === part.toolCallId) ?? {};
        Object.assign(draft.message.metadata, saidOf({ status: status ?? null, agentId: agentId ?? null }));
        drafts.push(draft);
      }
    }
    return drafts;
  }

  /**
   * Whether a record says it for the first time. A checkpoint repeats what was said, maybe under other ids; a record says the
   * same as another and means it.
   *
   * @param anywhere  A digest of it, and how often the record has said it so far.
   */
  #isNew(id: string, anywhere: string, isCheckpoint: boolean): boolean {
    const own = `${id} ${anywhere}`;
    if (this.#said.has(isCheckpoint ? anywhere : own)) return false;
    this.#said.add(own).add(anywhere);
    return true;
  }

  get #thread(): Thread {
    return this.#branches!.current;
  }

  #session(): ImportedSession {
    const { sessionId, projectHash, directories, kind, summary } = this.#about;
    const name = stringOf(sessionId) ?? fileNameOf(this.#path);
    const session: ImportedSession = { externalId: name, source: "gemini-cli" };
    const folder = dirname(this.#path);
    let chats = folder;
    if (kind === "subagent") {
      // Kept in a folder that is named after the session that started it.
      session.parentExternalId = basename(folder);
      session.externalId = `${basename(folder)}/${name}`;
      chats = dirname(folder);
    }
    const project = projectAt(chats, directories);
    if (project !== undefined) session.project = project;
    if (stringOf(summary)) session.title = summary as string;
    session.metadata = saidOf({ projectHash: projectHash ?? null, directories: directories ?? null });
    return session;
  }
}

/**
 * The folder of a project's recordings, `~/.gemini/tmp/<project>/chats`, is named after it; in older versions by a hash,
 * which says nothing.
 */
function projectAt(chats: string, directories: JsonValue | undefined): string | undefined {
  const folder = basename(dirname(chats));
  if (basename(chats) === "chats" && folder !== "" && !/^[0-9a-f]{64}$/.test(folder)) return folder;
  const [first] = Array.isArray(directories) ? directories : [];
  return typeof first === "string" && first !== "" ? projectOf(first) : undefined;
}

/** What a record says beside its content: model, tokens, and whatever later versions add. */
function metadataOf({ id, timestamp, type, content, thoughts, toolCalls, ...rest }: JsonObject): JsonObject {
  return saidOf(rest);
}

/**
 * Whether a record has this call or result for the first time; or, of one that may repeat what others say, whether any has.
 * Between records that mean what they say, ids of calls may come again.
 */
function isFresh(known: Set<string>, recordId: string, part: Part, mayRepeat: boolean): boolean {
  const anywhere = JSON.stringify(part.toolCallId);
  const own = `${recordId} ${anywhere}`;
  if (known.has(mayRepeat ? anywhere : own)) return false;
  known.add(own).add(anywhere);
  return true;
}
