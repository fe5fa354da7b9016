import { isDeepStrictEqual } from "node:util";
import { dropUsage, type MessageEntry, usageIn } from "./entry.ts";
import { QUIET_MS } from "./files.ts";
import type { ImportEvent, ImportedSession } from "./importer.ts";
import { injected, markedParts } from "./injected.ts";
import { checkedEvent, notYet } from "./message-event.ts";
import { callIdsOf, inOrder } from "./order.ts";

/** The most messages that a branch holds while later entries may move or drop some of them. */
const HELD_MAX = 1_000;

/** The most messages at the beginning of a session that wait for one with a time. */
const UNDATED_MAX = 8;

export interface BranchOptions {
  session: ImportedSession;
  /** True if another agent started the session. The prompt that it wrote is no word of the user. */
  isSubagent?: boolean;
  emit(event: ImportEvent): void;
  /** Returns false to announce the session later. `isFull` is true if the branch cannot hold more messages. */
  isReady(branch: Branch, isFull: boolean): boolean;
  /** Set for a fork whose transcript names the line that it continues: that line, and its branch. Line 0 is before all. */
  forkedAt?: { parent: Branch; line: number };
}

/**
 * One path through a transcript. It becomes one session.
 *
 * A branch holds the newest reply, because the agent writes its usage and its results later. A message that has only thoughts is
 * joined to the next message of its reply.
 */
export class Branch {
  readonly session: ImportedSession;
  title: string | undefined;
  readonly #options: BranchOptions;
  /** For each id, the number of the last message that would have had it. All smaller numbers are taken. */
  readonly #ids = new Map<string, number>();
  readonly #emitted: { line: number; id: string }[] = [];
  #held: MessageEntry[] = [];
  #thought: MessageEntry | undefined;
  /** The message that tells the usage of the newest reply. */
  #usage: MessageEntry | undefined;
  readonly #openIds = new Set<string>();
  #latestMs = Number.POSITIVE_INFINITY;
  #announced: ImportedSession | undefined;
  #newestId: string | undefined;
  #isTitleEmitted = false;
  /** False until the prompt of another agent has its first reply. */
  #isPrompted: boolean;
  /** True while the first messages have no time. The next one may have one. */
  #isTimeAwaited = true;

  constructor(options: BranchOptions) {
    this.#options = options;
    this.session = options.session;
    this.#isPrompted = options.isSubagent !== true || options.session.pathOf !== undefined;
  }

  get isAnnounced(): boolean {
    return this.#announced !== undefined;
  }

  get newestId(): string | undefined {
    return this.#newestId;
  }

  /**
   * Adds a message. If its id is already taken, the message gets the id `<id>#2`.
   *
   * @returns the id under which it is emitted. A message that continues a thought has the id of the thought.
   */
  add(entry: MessageEntry): string {
    const { message } = entry;
    message.id = this.#unused(message.id);
    this.#rest(message.createdAt);
    if (message.role === "assistant") {
      this.#isPrompted = true;
      return this.#addReply(entry).message.id;
    }
    if (message.role === "user" && !this.#isPrompted) message.parts = injected(message.parts);
    if (!entry.isAside) this.#endThought();
    entry.isPrompt ??= message.role === "user";
    if (message.role !== "tool" && this.#openIds.size === 0) this.#emitFinal();
    for (const part of message.parts) if (part.type === "tool_result") this.#openIds.delete(part.toolCallId);
    this.#held.push(entry);
    return message.id;
  }

  /**
   * If nothing was written for long while calls waited for their results, an import may have read all of these calls. They keep the
   * order in which it got them.
   */
  #rest(time: MessageEntry["message"]["createdAt"]): void {
    if (typeof time !== "number") return;
    const isInCalls = this.#openIds.size > 0 && this.#thought === undefined;
    const isOfCalls = ({ hold, message: { role } }: MessageEntry): boolean =>
      hold === undefined && (role === "assistant" || role === "tool");
    if (isInCalls && time - this.#latestMs > QUIET_MS && this.#held.every(isOfCalls)) {
      this.#openIds.clear();
      this.#emitFinal();
    }
    this.#latestMs = time;
  }

  drop(entry: MessageEntry): void {
    this.#held = this.#held.filter((other) => other !== entry);
  }

  isNewest(entry: MessageEntry): boolean {
    return this.#held.at(-1) === entry;
  }

  moveToEnd(entry: MessageEntry): void {
    this.drop(entry);
    this.#held.push(entry);
  }

  /** Adds metadata to the newest message of the model, if that message is still held and, if given, belongs to `reply`. */
  amend(metadata: MessageEntry["message"]["metadata"], reply?: object): void {
    const newest = this.#newestReply();
    if (newest !== undefined && (reply === undefined || newest.reply === reply)) {
      Object.assign(newest.message.metadata, metadata);
      if (reply !== undefined) this.#tellUsageOnce(newest);
    }
  }

  /** Takes the usage of a reply from all of its held messages but one: the one that was first to tell the newest counts. */
  #tellUsageOnce(entry: MessageEntry): void {
    const { fields } = usageIn(entry);
    if (Object.keys(fields).length === 0) return;
    const told = this.#usage;
    if (told?.reply === entry.reply && told !== entry) {
      const isKnown = isDeepStrictEqual(usageIn(told!).fields, fields);
      dropUsage(isKnown ? entry : told!);
      if (isKnown) return;
    }
    this.#usage = entry;
  }

  leave(): void {
    this.#isTimeAwaited = false;
    this.#endReply();
  }

  #endReply(): void {
    this.#endThought();
    this.#openIds.clear();
    this.#emitFinal();
  }

  /** Emits the held messages that no later entry can change, or all if the file is quiet. All of them stay held. */
  pause(isQuiet: boolean): void {
    const held = isQuiet
      ? [...this.#held, ...(this.#thought === undefined ? [] : [this.#thought])]
      : this.#held.filter(({ hold }) => hold !== "queued");
    const { ordered, waiting } = inOrder(held);
    this.#emit([...ordered, ...waiting.filter(({ isPrompt }) => isQuiet || isPrompt)], true);
    const { externalId, title = this.title } = this.session;
    if (this.#announced === undefined || this.#announced.title !== undefined) return;
    if (this.#isTitleEmitted || title === undefined) return;
    this.#isTitleEmitted = true;
    this.#options.emit({ kind: "title", session: externalId, title });
  }

  /** Emits the remaining messages. If the file is not finished, messages that must wait become warnings. */
  finish(isFinished: boolean): void {
    this.pause(isFinished);
    if (isFinished) return;
    const queued = this.#held.filter(({ hold }) => hold === "queued");
    const { waiting } = inOrder(this.#held.filter((entry) => !queued.includes(entry)));
    const warn = (line: number, reason: string) =>
      this.#options.emit({ kind: "warning", line, reason: notYet(reason) });
    for (const { line } of queued) warn(line, "the prompt is queued, and the agent has not read it yet");
    for (const { line, isPrompt } of waiting) if (!isPrompt) warn(line, "the call before it has no result yet");
    if (this.#thought !== undefined) {
      warn(this.#thought.line, "the words or the call that follow the thought are missing");
    }
  }

  /** Returns true if every message that begins on `line` or before was emitted and is no longer held. */
  hasEmittedUpTo(line: number): boolean {
    return (
      this.isAnnounced &&
      (line === 0 || this.#emitted.some((one) => one.line <= line)) &&
      !this.#held.some((entry) => entry.line <= line)
    );
  }

  lastIdUpTo(line: number): string | undefined {
    const held = inOrder(this.#held).ordered.findLast((entry) => entry.line <= line);
    return held?.message.id ?? this.#emitted.findLast((one) => one.line <= line)?.id;
  }

  #newestReply(): MessageEntry | undefined {
    return this.#thought ?? this.#held.findLast(({ message }) => message.role === "assistant");
  }

  #addReply(entry: MessageEntry): MessageEntry {
    entry.reply ??= {};
    if (this.#newestReply()?.reply !== entry.reply) this.#endReply();
    const { parts, metadata } = entry.message;
    const whole = this.#thought ?? entry;
    if (whole !== entry) {
      whole.message.parts.push(...parts);
      Object.assign(whole.message.metadata, metadata);
      const earlierIds = [...(whole.earlierIds ?? []), ...(entry.earlierIds ?? [])];
      if (earlierIds.length > 0) whole.earlierIds = earlierIds;
    }
    this.#thought = undefined;
    this.#tellUsageOnce(whole);
    if (parts.length > 0 && parts.every(({ type }) => type === "reasoning")) {
      this.#thought = whole;
      return whole;
    }
    for (const id of callIdsOf(parts)) this.#openIds.add(id);
    this.#held.push(whole);
    return whole;
  }

  #endThought(): void {
    if (this.#thought !== undefined) this.#held.push(this.#thought);
    this.#thought = undefined;
  }

  /** Emits the held messages. If one has a `hold`, the reply before it and everything after that stay held. */
  #emitFinal(): void {
    const isFull = this.#held.length > HELD_MAX;
    if (isFull) for (const entry of this.#held) delete entry.hold;
    const { forkedAt, isReady } = this.#options;
    const isForkReady = forkedAt === undefined || forkedAt.parent.hasEmittedUpTo(forkedAt.line);
    this.#isTimeAwaited &&= this.#held.length <= UNDATED_MAX && this.#timeIn(this.#held) === undefined;
    if (!this.isAnnounced && !(isReady(this, isFull) && isForkReady && !this.#isTimeAwaited)) return;
    const heldAt = this.#held.findIndex(({ hold }) => hold !== undefined);
    const { ordered, waiting } = inOrder(
      this.#held.splice(0, heldAt === -1 ? this.#held.length : this.#replyStart(heldAt)),
    );
    const final = [...ordered, ...waiting];
    for (const { line, message } of final) this.#emitted.push({ line, id: message.id });
    this.#emit(final, false);
  }

  /** Returns the index of the last message before `end` that begins a reply, or 0. */
  #replyStart(end: number): number {
    let start = 0;
    let newest: object | undefined;
    for (const [index, { reply }] of this.#held.slice(0, end).entries()) {
      if (reply === undefined || reply === newest) continue;
      newest = reply;
      start = index;
    }
    return start;
  }

  #emit(entries: readonly MessageEntry[], isEnd: boolean): void {
    for (const { message, line, earlierIds } of entries) {
      if (message.role === "user") message.parts = markedParts(message.parts);
      const { externalId: session } = this.session;
      const event = checkedEvent({
        ...{ kind: "message", session, message, line },
        ...(earlierIds !== undefined && { earlierIds }),
      });
      if (event.kind === "message" && this.#announced === undefined) {
        const createdAtMs = this.#timeIn(entries);
        if (createdAtMs !== undefined) this.session.createdAtMs = createdAtMs;
        const session = { ...this.session };
        if (isEnd && this.title !== undefined) session.title ??= this.title;
        const { forkedAt } = this.#options;
        const forkedAfter = forkedAt?.parent.lastIdUpTo(forkedAt.line);
        if (forkedAfter !== undefined) session.forkedAfter = forkedAfter;
        this.#announced = session;
        this.#options.emit({ kind: "session", session });
      }
      this.#options.emit(event);
      if (event.kind === "message") this.#newestId = message.id;
    }
  }

  #timeIn(entries: readonly MessageEntry[]): number | undefined {
    const { createdAtMs } = this.session;
    if (createdAtMs !== undefined) return createdAtMs;
    const dated = entries.find(({ message }) => typeof message.createdAt === "number");
    return dated?.message.createdAt as number | undefined;
  }

  #unused(id: string): string {
    let count = this.#ids.get(id);
    let unused = id;
    if (count !== undefined) {
      do {
        count += 1;
        unused = `${id}#${count}`;
      } while (this.#ids.has(unused));
      this.#ids.set(id, count);
    }
    this.#ids.set(unused, 1);
    return unused;
  }
}
