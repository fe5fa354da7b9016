import { basename } from "node:path";
import type { Draft } from "../draft.ts";
import type { ImportEvent, ImportedSession } from "../importer.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { messageEvent, notYet } from "../message-event.ts";
import { objectOf, projectOf, stringOf } from "../values.ts";
import { Conversation } from "./conversation.ts";
import {
  BOOKKEEPING_ATTACHMENTS,
  BOOKKEEPING_PROGRESS,
  BOOKKEEPING_SUBTYPES,
  BOOKKEEPING_TYPES,
  isJournal,
  NOTE_SUBTYPES,
  TOLD_ATTACHMENTS,
} from "./line.ts";
import { AgentProgress } from "./progress.ts";
import { PromptQueue } from "./prompt-queue.ts";
import { hasOwnFile, StartingCalls, startingCallBeside } from "./starting-calls.ts";

/** The conversation of a session or of one of its subagents, and what the file says about it. */
interface Thread {
  externalId: string;
  conversation: Conversation;
  queue: PromptQueue;
  cwd?: string | undefined;
  customTitle?: string | undefined;
  aiTitle?: string | undefined;
  summary?: string | undefined;
  /** Set for a subagent. */
  agent?: { id: string; sessionId: string; prompt?: string };
  /** Set for a fork: its parent, and the line of that which it goes on from. */
  fork?: { parent: Thread; line: number };
  /** The line of the newest prompt, and of the newest that was answered. */
  promptLine: number;
  answeredLine: number;
  /** Whether its session was told of, and with a title. */
  isAnnounced: boolean;
  isTitled: boolean;
}

/** Messages of a conversation that are held, whatever might still be said of them or of their session. */
const HELD_MAX = 1_000;

/**
 * One file of Claude Code, taken apart into conversations.
 *
 * A session's lines bear its `sessionId`; lines with `isSidechain` belong to a subagent, told apart by `agentId` or,
 * before there was one, by the line at the root of their `parentUuid` chain. A subagent becomes a session of its own,
 * `<session>/agent-<id>`, whichever file it is read from.
 *
 * Where the user went back and said something else, the new prompt's `parentUuid` lies before a prompt that was answered.
 * What was taken back stays; the new prompt begins a fork, `<session>/fork-<uuid>`.
 *
 * Messages come as soon as no later line can change them: the end of a message and the fate of a queued prompt come late. A
 * subagent's wait until it is known which call started it, those of a fork until their parent's have come. Titles, which
 * come late, too, follow at the end.
 */
export class Transcript {
  readonly #path: string;
  readonly #threads = new Map<string, Thread>();
  /** Where each line with a uuid stands. */
  readonly #placeByUuid = new Map<string, { thread: Thread; line: number }>();
  /** The branch that a session's newest lines belong to. */
  readonly #branchBySession = new Map<string, Thread>();
  readonly #progressByAgent = new Map<string, AgentProgress>();
  readonly #calls = new StartingCalls();
  readonly #summaries: JsonObject[] = [];
  /** Those in which a message of the assistant has come since they were last looked at. */
  #ripe = new Set<Thread>();
  #sessionId: string;

  constructor(path: string) {
    this.#path = path;
    this.#sessionId = basename(path, ".jsonl");
  }

  /** Add a line of the file. Yields the reasons for which something in it is not imported, if any. */
  *add(line: JsonObject, number: number): Generator<string> {
    const { type } = line;
    if (type === "summary") {
      this.#summaries.push(line);
      return;
    }
    if (BOOKKEEPING_TYPES.has(type) || isJournal(line)) return;
    const thread = this.#threadOf(line, number);
    switch (type) {
      case "user":
      case "assistant": {
        const { content } = objectOf(line.message);
        if (typeof content !== "string" && !Array.isArray(content)) yield `${type} line without message.content`;
        else this.#say(thread, line, number);
        return;
      }
      case "attachment": {
        const kind = objectOf(line.attachment).type;
        if (kind === "queued_command" || TOLD_ATTACHMENTS.has(kind)) this.#say(thread, line, number);
        else if (!BOOKKEEPING_ATTACHMENTS.has(kind)) yield `unknown type of attachment: ${JSON.stringify(kind)}`;
        return;
      }
      case "system":
        if (NOTE_SUBTYPES.has(line.subtype)) thread.conversation.note(line, number);
        else if (!BOOKKEEPING_SUBTYPES.has(line.subtype)) {
          yield `unknown subtype of a system line: ${JSON.stringify(line.subtype)}`;
        }
        return;
      case "queue-operation":
        if (!thread.queue.apply(line, number)) yield `unknown queue operation: ${JSON.stringify(line.operation)}`;
        return;
      case "custom-title":
        thread.customTitle = stringOf(line.customTitle) ?? thread.customTitle;
        return;
      case "ai-title":
        thread.aiTitle = stringOf(line.aiTitle) ?? thread.aiTitle;
        return;
      case "progress":
        yield* this.#follow(line, number);
        return;
      default:
        yield `unknown type of line: ${JSON.stringify(type)}`;
    }
  }

  get hasSettled(): boolean {
    return this.#ripe.size > 0;
  }

  /** What no later line can change: messages, each session before its first. */
  async *settled(): AsyncGenerator<ImportEvent> {
    for (const thread of this.#ripe) {
      const { conversation, queue } = thread;
      const isFull = conversation.heldCount > HELD_MAX;
      if (isFull) queue.letGo();
      if (!thread.isAnnounced && !this.#isReady(thread, isFull)) continue;
      yield* this.#eventsOf(
        thread,
        conversation.takeSettled((draft) => queue.holds(draft)),
      );
    }
    this.#ripe = new Set();
  }

  /** What is sure if the file goes on; where nothing was written for long, everything. All of it is held on. */
  async *pause(isFinished: boolean): AsyncGenerator<ImportEvent> {
    for (const thread of this.#parentsFirst()) {
      const { conversation, queue } = thread;
      const drafts = isFinished ? conversation.all() : conversation.whole((draft) => queue.isWaiting(draft)).drafts;
      yield* this.#tellLast(thread, drafts);
    }
  }

  /**
   * At the end of the file: whatever is left, each session after the one that started it; and titles.
   *
   * @param isFinished  Nothing will be written any more.
   */
  async *finish(isFinished: boolean): AsyncGenerator<ImportEvent> {
    for (const thread of this.#parentsFirst()) {
      const { conversation, queue } = thread;
      const { drafts, waiting } = isFinished
        ? { drafts: conversation.takeAll(), waiting: [] }
        : conversation.whole((draft) => queue.isWaiting(draft));
      yield* this.#tellLast(thread, drafts);
      for (const { draft, reason } of waiting) yield notYet(draft.line, reason);
    }
  }

  async *#tellLast(thread: Thread, drafts: readonly Draft[]): AsyncGenerator<ImportEvent> {
    yield* this.#eventsOf(thread, drafts, true);
    const title = titleOf(thread);
    if (!thread.isAnnounced || thread.isTitled || title === undefined) return;
    thread.isTitled = true;
    yield { kind: "title", session: thread.externalId, title };
  }

  #parentsFirst(): Thread[] {
    for (const { summary, leafUuid } of this.#summaries) {
      // Claude Code also writes the titles of other conversations into a file; their leaves are not in it.
      const thread = this.#placeByUuid.get(leafUuid as string)?.thread;
      if (thread !== undefined) thread.summary = stringOf(summary) ?? thread.summary;
    }
    const threads = [...this.#threads.values()];
    return [...threads.filter(({ agent }) => !agent), ...threads.filter(({ agent }) => agent)];
  }

  /** Whether what is said of a session is known before the end of the file. */
  #isReady({ agent, fork, cwd }: Thread, isFull: boolean): boolean {
    if (cwd === undefined && !isFull) return false;
    if (fork !== undefined) {
      return fork.parent.isAnnounced && fork.parent.conversation.hasTakenUpTo(fork.line);
    }
    if (agent === undefined) return true;
    const parent = this.#threads.get(agent.sessionId);
    return parent === undefined || (parent.isAnnounced && this.#calls.isSure(agent.id));
  }

  async *#eventsOf(thread: Thread, drafts: readonly Draft[], isEnd = false): AsyncGenerator<ImportEvent> {
    for (const { message, line } of drafts) {
      const event = messageEvent(thread.externalId, message, line);
      if (event.kind === "message" && !thread.isAnnounced) {
        const session = await this.#sessionOf(thread, isEnd);
        if (typeof message.createdAt === "number") session.createdAtMs = message.createdAt;
        thread.isAnnounced = true;
        thread.isTitled = session.title !== undefined;
        yield { kind: "session", session };
      }
      yield event;
    }
  }

  #say(thread: Thread, line: JsonObject, number: number): void {
    this.#calls.see(line);
    if (line.type === "assistant") this.#ripe.add(thread);
    const prompt = thread.conversation.add(line, number);
    if (prompt === undefined) return;
    thread.queue.see(prompt);
    const [words] = prompt.message.parts;
    if (thread.agent && words?.type === "text") thread.agent.prompt ??= words.text;
  }

  /** Follow a subagent through its session's progress lines, unless it has a file of its own. */
  *#follow(line: JsonObject, number: number): Generator<string> {
    const { type, message, normalizedMessages, agentId } = objectOf(line.data);
    if (!isObject(message) && !Array.isArray(normalizedMessages)) {
      if (!BOOKKEEPING_PROGRESS.has(type)) yield `unknown type of progress: ${JSON.stringify(type)}`;
      return;
    }
    this.#calls.see(line);
    const agent = stringOf(agentId) ?? stringOf(line.parentToolUseID) ?? "unknown";
    if (hasOwnFile(this.#path, agent)) return;
    let progress = this.#progressByAgent.get(agent);
    if (progress === undefined) {
      progress = new AgentProgress();
      this.#progressByAgent.set(agent, progress);
    }
    for (const told of progress.linesOf(line)) yield* this.add({ ...told, isSidechain: true, agentId: agent }, number);
  }

  #threadOf(line: JsonObject, number: number): Thread {
    this.#sessionId = stringOf(line.sessionId) ?? this.#sessionId;
    const thread = line.isSidechain === true ? this.#agentThread(line) : this.#branchOf(line, number);
    thread.cwd ??= stringOf(line.cwd);
    const uuid = stringOf(line.uuid);
    if (uuid !== undefined && !this.#placeByUuid.has(uuid)) this.#placeByUuid.set(uuid, { thread, line: number });
    return thread;
  }

  #branchOf(line: JsonObject, number: number): Thread {
    const session = this.#thread(this.#sessionId);
    const newest = this.#branchBySession.get(this.#sessionId) ?? session;
    const place = this.#placeByUuid.get(line.parentUuid as string);
    const isOfSession = place !== undefined && rootOf(place.thread) === session;
    let branch = isOfSession ? place.thread : newest;
    if (isPrompt(line) && !this.#placeByUuid.has(line.uuid as string)) {
      if (isOfSession && place.line < branch.answeredLine) {
        const parent = branch;
        branch = this.#thread(`${this.#sessionId}/fork-${line.uuid}`);
        branch.fork ??= { parent, line: place.line };
        branch.cwd ??= parent.cwd;
      }
      branch.promptLine = number;
    } else if (line.type === "assistant") branch.answeredLine = branch.promptLine;
    this.#branchBySession.set(this.#sessionId, branch);
    return branch;
  }

  #agentThread(line: JsonObject): Thread {
    const parent = this.#placeByUuid.get(line.parentUuid as string)?.thread;
    const named = stringOf(line.agentId) ?? /^agent-(.+)\.jsonl$/.exec(basename(this.#path))?.[1];
    if (named === undefined && parent?.agent !== undefined) return parent;
    const id = named ?? stringOf(line.uuid) ?? "unknown";
    const thread = this.#thread(`${this.#sessionId}/agent-${id}`);
    thread.agent ??= { id, sessionId: this.#sessionId };
    return thread;
  }

  #thread(externalId: string): Thread {
    let thread = this.#threads.get(externalId);
    if (thread === undefined) {
      const conversation = new Conversation();
      const queue = new PromptQueue(conversation);
      thread = { externalId, conversation, queue, promptLine: 0, answeredLine: 0, isAnnounced: false, isTitled: false };
      this.#threads.set(externalId, thread);
    }
    return thread;
  }

  async #sessionOf(thread: Thread, isEnd: boolean): Promise<ImportedSession> {
    const { externalId, agent, cwd, fork } = thread;
    const metadata: JsonObject = {};
    const session: ImportedSession = { externalId, source: "claude-code", metadata };
    // Before the end of the file, a better one may follow.
    let title = isEnd ? titleOf(thread) : undefined;
    if (agent !== undefined) {
      const { id, sessionId, prompt } = agent;
      const inFile = this.#calls.callOf(id, prompt);
      const { description, ...call } = inFile ?? (await startingCallBeside(this.#path, sessionId, id, prompt)) ?? {};
      session.parentExternalId = sessionId;
      Object.assign(metadata, { agentId: id, ...call });
      title ??= description;
    }
    if (fork !== undefined) {
      session.parentExternalId = fork.parent.externalId;
      const last = fork.parent.conversation.lastUpTo(fork.line);
      if (last !== undefined) session.forkedAfter = last;
    }
    if (title !== undefined) session.title = title;
    if (cwd !== undefined) {
      metadata.cwd = cwd;
      session.project = projectOf(cwd);
    }
    return session;
  }
}

function titleOf({ customTitle, aiTitle, summary }: Thread): string | undefined {
  return customTitle ?? aiTitle ?? summary;
}

/** The thread of the session that a branch belongs to. */
function rootOf(thread: Thread): Thread {
  return thread.fork === undefined ? thread : rootOf(thread.fork.parent);
}

/** Words of the user on a line of their own, as they were typed: no results, no reminders. */
function isPrompt({ type, uuid, isMeta, isCompactSummary, message }: JsonObject): boolean {
  if (type !== "user" || isMeta === true || isCompactSummary === true || !stringOf(uuid)) return false;
  const { content } = objectOf(message);
  return typeof content === "string" || (Array.isArray(content) && !content.some(isResult));
}

function isResult(block: unknown): boolean {
  return isObject(block) && block.type === "tool_result";
}
