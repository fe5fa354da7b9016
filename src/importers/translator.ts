import { statSync } from "node:fs";
import { defined } from "../adapters/shared/own.ts";
import { cutAtGrapheme } from "../core/text.ts";
import type { Branch } from "./branch.ts";
import { Branches } from "./branches.ts";
import type { MessageEntry } from "./entry.ts";
import type { ImportEvent, ImportedMessage, ImportedSession } from "./importer.ts";
import { type DamagedLine, fieldsIn, isObject, type Pause } from "./lines.ts";
import { isNotYet } from "./message-event.ts";
import { millisecondsOf, objectOf } from "./values.ts";

/** A file with fewer unknown items is not refused: many formats begin with a few lines that are no conversation. */
const UNREAD_MIN = 5;

export interface TranslatedFile {
  path: string;
  isFinished?: boolean | undefined;
}

/** A session as the transcript tells of it. What is undefined is no fact of the session. */
export type SessionFacts = Pick<ImportedSession, "externalId" | "source"> & {
  [Field in keyof ImportedSession]: ImportedSession[Field] | undefined;
} & {
  /** True if another agent started the session, and wrote what stands before its first reply. */
  isSubagent?: boolean | undefined;
};

/** Turns the items of one file, such as its lines, into events. The only session of a file has the name "". */
export abstract class Translator<Item extends { line: number }, Given = undefined> {
  protected readonly file: TranslatedFile;
  /** What is known beside the items, such as the row of a session in a database. */
  protected readonly given: Given;
  /** The name of the session "". It may become known, and change, after the first message. */
  protected title: string | undefined;
  readonly #sessions = new Map<string, Branches>();
  /** The external ids of the sessions that another agent started. */
  readonly #subagents = new Set<string>();
  #events: ImportEvent[] = [];
  /** The time of the newest message of each session, or of the session if it has none. */
  readonly #times = new Map<string, number>();
  #latestMs: number | undefined;

  constructor(file: TranslatedFile, given?: Given) {
    this.file = file;
    this.given = given as Given;
  }

  /** Returns the messages of an item to add to the session of the file, or the reason why the item cannot be read. */
  protected abstract read(item: Item): readonly MessageEntry[] | string | undefined;

  /** Returns the facts of a session when its first message is added. */
  protected abstract session(name: string): SessionFacts;

  /** Returns false for an item that may be in a file of any format, such as a field beside a list. */
  protected isTelling(_item: Item): boolean {
    return true;
  }

  protected skip(): void {}

  /** Called before each pause and at the end of the file, to add messages that waited. */
  protected end(_isQuiet: boolean, _isPause: boolean): void {}

  /** Called just before a session is announced, to add facts about it. */
  protected async complete(_session: ImportedSession): Promise<void> {}

  /** Returns false while the file may still give facts that belong in the `session` event. */
  protected isReady(_branch: Branch, _isFull: boolean): boolean {
    return true;
  }

  /** Reads an item, and adds its messages, or warns of it. */
  protected take(item: Item): void {
    const said = this.read(item);
    if (typeof said === "string") this.warn(item.line, said);
    else if (said !== undefined && said.length > 0) this.open().add(said);
  }

  /** Returns the branches of a session, which the first call creates. */
  protected open(name = ""): Branches {
    let branches = this.#sessions.get(name);
    if (branches === undefined) {
      const { isSubagent = false, ...facts } = this.session(name);
      if (name === "") facts.title ??= this.title;
      if (isSubagent) this.#subagents.add(facts.externalId);
      branches = new Branches({
        session: defined(facts) as ImportedSession,
        isSubagent,
        emit: (event) => this.emit(event),
        isReady: (branch, isFull) => this.isReady(branch, isFull),
      });
      this.#sessions.set(name, branches);
    }
    return branches;
  }

  protected branches(name = ""): Branches | undefined {
    return this.#sessions.get(name);
  }

  protected get sessions(): Branches[] {
    const isSubagent = ({ root }: Branches) => root.session.parentExternalId !== undefined;
    const sessions = [...this.#sessions.values()];
    return [...sessions.filter((one) => !isSubagent(one)), ...sessions.filter(isSubagent)];
  }

  protected emit(event: ImportEvent): void {
    if (event.kind === "session") {
      const createdAtMs = event.session.createdAtMs ?? this.#latestMs ?? this.#writtenAtMs();
      if (createdAtMs === undefined) this.#events.push(event);
      else {
        this.#times.set(event.session.externalId, createdAtMs);
        this.#events.push({ ...event, session: { ...event.session, createdAtMs } });
      }
    } else if (event.kind === "message") this.#events.push({ ...event, message: this.#dated(event) });
    else this.#events.push(event);
  }

  /** Gives a message without a time that of the message before it, or of its session, or of the file. */
  #dated({ session, message }: Extract<ImportEvent, { kind: "message" }>): ImportedMessage {
    const own = millisecondsOf(message.createdAt);
    const createdAt = own ?? this.#times.get(session);
    if (createdAt !== undefined) this.#times.set(session, createdAt);
    this.#latestMs = own ?? this.#latestMs;
    return message.createdAt !== undefined || createdAt === undefined ? message : { ...message, createdAt };
  }

  /** Returns when the file was written last; undefined if it is no file. */
  #writtenAtMs(): number | undefined {
    const found = statSync(this.file.path, { throwIfNoEntry: false });
    return found?.isFile() ? Math.trunc(found.mtimeMs) : undefined;
  }

  protected warn(line: number, reason: string): void {
    this.emit({ kind: "warning", line, reason });
  }

  #tellTitle(): void {
    const root = this.branches()?.root;
    if (root !== undefined) root.title = this.title ?? root.title;
  }

  protected finish(isFinished: boolean): void {
    this.#tellTitle();
    for (const { all } of this.sessions) for (const branch of all) branch.finish(isFinished);
    this.#emitHeads();
    this.#sessions.clear();
  }

  #emitHeads(): void {
    for (const { head } of this.sessions) if (head !== undefined) this.emit({ kind: "head", ...head });
  }

  async *translate(
    items: AsyncIterable<Item | DamagedLine | Pause> | Iterable<Item | DamagedLine>,
  ): AsyncGenerator<ImportEvent> {
    let first: Item | undefined;
    let problem: Warning | undefined;
    let isUnderstood = false;
    let itemCount = 0;
    let unreadCount = 0;
    let isQuiet = false;
    for await (const item of items) {
      isQuiet = "isPause" in item && item.isQuiet;
      if ("isPause" in item) {
        this.end(item.isQuiet, true);
        this.#tellTitle();
        for (const { all } of this.sessions) for (const branch of all) branch.pause(item.isQuiet);
        this.#emitHeads();
        yield* this.#emitted();
        yield { kind: "paused" };
        continue;
      }
      if ("problem" in item) {
        this.skip();
        this.warn(item.line, item.problem);
      } else {
        this.take(item);
        first ??= item;
        const found = this.#events.find(isProblem);
        problem ??= found;
        itemCount += 1;
        if (found !== undefined && !this.#hasSaid) unreadCount += 1;
        isUnderstood ||= this.#hasSaid || (found === undefined && this.isTelling(item));
      }
      if (this.#events.length > 0) yield* this.#emitted();
    }
    const isFinished = this.file.isFinished === true || isQuiet;
    this.end(isFinished, false);
    this.finish(isFinished);
    isUnderstood ||= this.#hasSaid;
    problem ??= this.#events.find(isProblem);
    yield* this.#emitted();
    const isMostlyUnread = unreadCount * 2 > itemCount && unreadCount >= UNREAD_MIN;
    if (first === undefined || (isUnderstood && !isMostlyUnread) || (problem === undefined && !isFinished)) return;
    const { key, value } = first as { key?: unknown; value?: unknown };
    const found = fieldsIn(typeof key === "string" ? { [key]: value } : value);
    const version = versionIn(value);
    const reasons = [
      isUnderstood && `${unreadCount} of its ${itemCount} items are unknown`,
      problem && `line ${problem.line}: ${problem.reason}`,
      version && `its ${version}`,
      found && `found ${found}`,
    ];
    yield { kind: "misread", isInPart: isUnderstood, reason: reasons.filter(Boolean).join("; ") };
  }

  /** True if the newest events say more than that something is wrong. */
  get #hasSaid(): boolean {
    return this.#events.some(({ kind }) => kind !== "warning");
  }

  async *#emitted(): AsyncGenerator<ImportEvent> {
    for (const event of this.#events.splice(0)) {
      if (event.kind === "session") await this.#complete(event.session);
      yield event;
    }
  }

  async #complete(session: ImportedSession): Promise<void> {
    await this.complete(session);
    const { externalId, pathOf = externalId, metadata } = session;
    if (this.#subagents.has(pathOf)) session.metadata = { ...metadata, isSubagent: true };
  }
}

/** The version that an item tells, such as `protocol_version is 1.4`. */
function versionIn(value: unknown): string | undefined {
  if (!isObject(value)) return undefined;
  for (const fields of [value, objectOf(value.payload), objectOf(value.data)]) {
    for (const [name, version] of Object.entries(fields)) {
      const isVersion = /version$|^v$/i.test(name) && ["string", "number"].includes(typeof version);
      if (isVersion) return `${name} is ${cutAtGrapheme(String(version), 40)}`;
    }
  }
  return undefined;
}

type Warning = Extract<ImportEvent, { kind: "warning" }>;

function isProblem(event: ImportEvent): event is Warning {
  return event.kind === "warning" && !isNotYet(event);
}
