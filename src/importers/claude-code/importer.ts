import { basename } from "node:path";
import type { AdaptedMessage } from "../../adapters/anthropic.ts";
import type { JsonValue, Part } from "../../core/message.ts";
import type { Branch } from "../branch.ts";
import { type MessageEntry, messageEntry } from "../entry.ts";
import type { ImportedSession, Importer } from "../importer.ts";
import { injected } from "../injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "../lines.ts";
import { callIdsOf } from "../order.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { contentId, derivedId, objectOf, objectsOf, stringOf } from "../values.ts";
import { attachmentPartsOf, messageOfRole, messagesOf, metadataOf } from "./content.ts";
import {
  BOOKKEEPING_PROGRESS,
  BOOKKEEPING_SUBTYPES,
  BOOKKEEPING_TYPES,
  HOOK_ATTACHMENTS,
  isBookkeeping,
  isJournal,
  NOTE_SUBTYPES,
  retractedBy,
  TOLD_ATTACHMENTS,
  timeOf,
} from "./line.ts";
import { AgentProgress } from "./progress.ts";
import { PromptQueue } from "./prompt-queue.ts";
import { Replays } from "./replays.ts";
import { hasOwnFile, StartingCalls, startingCallBeside } from "./starting-calls.ts";
import { isStreamLine, transcriptLines } from "./stream.ts";
import { withWholeOutputs } from "./tool-results.ts";

/**
 * Reads the files of Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, and those of its subagents,
 * `<session>/subagents/agent-<id>.jsonl` (before 2.1: `agent-<id>.jsonl` beside the file of the session). What
 * `claude --output-format stream-json` writes is read as the transcript of its session, of which it leaves out the prompts. iFlow
 * writes such files, too: `~/.iflow/projects/<folder>/session-<id>.jsonl`.
 *
 * Compaction summaries, boundaries and lines marked `isMeta` become messages too, with the mark in their metadata. They replace
 * nothing. `line.ts` lists the lines that are skipped. An unknown line becomes a warning. A result that was too long for the model
 * has its whole output too, from `<session>/tool-results/`.
 */
export const claudeCode: Importer = {
  name: "claude-code",
  isFollowable: true,

  detect(head) {
    return headObjects(head).some((line) => isOwnLine(line) || isStreamLine(line));
  },

  read: (file) => new ClaudeCodeTranslator(file).translate(transcriptLines(readJsonLines(file))),
};

/** iFlow writes the lines of Claude Code. Its ids of sessions have a beginning of their own, and it has a folder of its own. */
const IFLOW_SESSION = /^session-[\da-f]{8}-/;
const IFLOW_FOLDER = /[\\/]\.iflow[\\/]projects[\\/]/;

/** Claude Code writes a line for each content block of a reply. */
interface ModelReply {
  messageId: string;
  requestId: string | undefined;
  callIds: Set<string>;
  /** A thought that waits for the words or the call that follow it. */
  thought: MessageEntry | undefined;
  /** Its messages, by the uuid of each of their lines. */
  entries: Map<string, MessageEntry>;
}

interface BranchState {
  branch: Branch;
  queue: PromptQueue;
  reply?: ModelReply | undefined;
  contentByUuid: Map<string, string>;
  cwd?: string | undefined;
  /** Where the program moved the session to, out of a worktree or into one. */
  relocatedCwd?: string | undefined;
  titles: { custom?: string | undefined; ai?: string | undefined; summary?: string | undefined };
  agent?: SubagentState;
  /** The uuid of the first message that the newest compaction kept, until its summary is read. */
  keptFrom?: string | undefined;
}

interface SubagentState {
  id: string;
  sessionId: string;
  prompt?: string;
}

/**
 * Translates a file of Claude Code, which may hold several sessions.
 *
 * A line belongs to the session in its `sessionId`. Lines with `isSidechain` belong to the subagent in their `agentId`. In older
 * versions, the root of their `parentUuid` chain names the subagent. A subagent becomes a session, `<session>/agent-<id>`. A
 * prompt whose `parentUuid` is before an answered prompt begins a branch.
 *
 * Claude Code writes a line for each content block as soon as the block is there. Each line is a message, so that a file that was
 * read while it grew gives the same messages. Only a thought is joined to the words or the call that follow it.
 *
 * Lines with equal `message.id` and `requestId` are one reply, unless another message of the model comes between them. Proxies
 * for other models write no `requestId` and repeat their message ids. A prompt then ends the reply too.
 *
 * The id of a message is the uuid of its line, or of its thought's line. If a line holds both tool results and words of the user,
 * the results get `<uuid>:result`. A line that repeats an earlier line is skipped, also under another uuid.
 */
class ClaudeCodeTranslator extends Translator<JsonLine> {
  /** Keyed by external id. */
  readonly #states = new Map<string, BranchState>();
  readonly #progressByAgent = new Map<string, AgentProgress>();
  readonly #calls = new StartingCalls();
  readonly #replays = new Replays();
  /** What was said to the model since its newest reply, by uuid. */
  readonly #unproven = new Map<string, { branch: Branch; entry: MessageEntry }>();
  readonly #summaries: JsonObject[] = [];
  #sessionId = basename(this.file.path, ".jsonl");

  protected override read({ value, line: number }: JsonLine): string | undefined {
    const line = this.#replays.see(value, (uuid) => {
      const unproven = this.#unproven.get(uuid);
      unproven?.branch.drop(unproven.entry);
    });
    if (line === undefined) return undefined;
    const { type } = line;
    if (type === "summary") {
      this.#summaries.push(line);
      return;
    }
    if (BOOKKEEPING_TYPES.has(type) || isJournal(line)) return undefined;
    const state = this.#stateFor(line, number);
    const retracted = retractedBy(line);
    if (retracted !== undefined) {
      for (const uuid of retracted) retract(state, uuid);
      if (line.content !== undefined) addNote(state, line, number, injected);
      return;
    }
    switch (type) {
      case "user":
      case "assistant": {
        const { content } = objectOf(line.message);
        const { keptFrom } = state;
        if (!isContent(content)) return `${type} line without message.content`;
        const isKept = line.isCompactSummary === true && keptFrom !== undefined;
        return this.#addSaid(state, isKept ? { ...line, keptFrom } : line, number);
      }
      case "attachment": {
        const kind = objectOf(line.attachment).type;
        if (kind === "queued_command" || TOLD_ATTACHMENTS.has(kind)) return this.#addSaid(state, line, number);
        return isBookkeeping(kind) ? undefined : `unknown type of attachment: ${JSON.stringify(kind)}`;
      }
      case "system":
        if (line.subtype === "compact_boundary") state.keptFrom = keptFromOf(line);
        if (NOTE_SUBTYPES.has(line.subtype)) addNote(state, line, number, injected);
        else if (!BOOKKEEPING_SUBTYPES.has(line.subtype)) {
          return `unknown subtype of a system line: ${JSON.stringify(line.subtype)}`;
        }
        return;
      case "queue-operation":
        return state.queue.apply(line, () => addNote(state, line, number))
          ? undefined
          : `unknown queue operation: ${JSON.stringify(line.operation)}`;
      case "custom-title":
        state.titles.custom = stringOf(line.customTitle) ?? state.titles.custom;
        return;
      case "ai-title":
        state.titles.ai = stringOf(line.aiTitle) ?? state.titles.ai;
        return;
      case "relocated":
        state.relocatedCwd = stringOf(line.relocatedCwd) ?? state.relocatedCwd;
        return;
      case "progress":
        return this.#followAgent(line, number);
      default:
        return `unknown type of line: ${JSON.stringify(type)}`;
    }
  }

  protected override end(): void {
    for (const { summary, leafUuid } of this.#summaries) {
      // A file may also have titles of other sessions. Their leaves are not in the file.
      const state = this.#stateAt(leafUuid);
      if (state !== undefined) state.titles.summary = stringOf(summary) ?? state.titles.summary;
    }
    for (const { branch, titles } of this.#states.values()) branch.title = titles.custom ?? titles.ai ?? titles.summary;
  }

  protected override async complete(session: ImportedSession): Promise<void> {
    const { agent, relocatedCwd, cwd = relocatedCwd } = this.#states.get(session.externalId)!;
    const metadata: JsonObject = {};
    if (agent !== undefined) {
      const { id, sessionId, prompt } = agent;
      const inFile = this.#calls.callOf(id, prompt);
      const { description, ...call } =
        inFile ?? (await startingCallBeside(this.file.path, sessionId, id, prompt)) ?? {};
      Object.assign(metadata, { agentId: id, ...call });
      if (description !== undefined) session.title ??= description;
    }
    if (cwd !== undefined) {
      metadata.cwd = cwd;
      session.folder = cwd;
    }
    if (relocatedCwd !== undefined) metadata.relocatedCwd = relocatedCwd;
    session.metadata = metadata;
  }

  #addSaid(state: BranchState, line: JsonObject, number: number): undefined {
    this.#calls.see(line);
    const { content = null, id: messageId } = objectOf(line.message);
    if (isRepeat(state, line, line.attachment ?? content)) return;
    const id = stringOf(line.uuid) ?? derivedId(line.timestamp, line.message, line.attachment);
    if (line.type === "assistant") {
      addReply(state, line, id, number, stringOf(messageId) ?? id);
      this.#unproven.clear();
      return;
    }
    const told = withWholeOutputs(content, this.file.path, (reason) => this.warn(number, reason));
    const entry =
      line.type === "attachment" ? addAttachment(state, line, id, number) : addUser(state, line, id, number, told);
    if (entry !== undefined) this.#unproven.set(id, { branch: state.branch, entry });
  }

  /** Reads the messages of a subagent from a progress line, unless the subagent has its own file. */
  #followAgent(line: JsonObject, number: number): string | undefined {
    const { type, message, normalizedMessages, agentId } = objectOf(line.data);
    if (!isObject(message) && !Array.isArray(normalizedMessages)) {
      return BOOKKEEPING_PROGRESS.has(type) ? undefined : `unknown type of progress: ${JSON.stringify(type)}`;
    }
    this.#calls.see(line);
    const agent = stringOf(agentId) ?? stringOf(line.parentToolUseID) ?? "unknown";
    if (hasOwnFile(this.file.path, agent)) return undefined;
    const progress = this.#progressByAgent.get(agent) ?? new AgentProgress();
    this.#progressByAgent.set(agent, progress);
    for (const value of progress.linesOf(line)) {
      this.take({ value: { ...value, isSidechain: true, agentId: agent }, line: number });
    }
  }

  #stateFor(line: JsonObject, number: number): BranchState {
    this.#sessionId = stringOf(line.sessionId) ?? this.#sessionId;
    const agent = line.isSidechain === true ? this.#agentOf(line) : undefined;
    const externalId = agent === undefined ? this.#sessionId : `${agent.sessionId}/agent-${agent.id}`;
    const branch = this.open(externalId).follow({
      key: stringOf(line.uuid),
      after: stringOf(line.parentUuid),
      line: number,
      isPrompt: agent === undefined && isPrompt(line),
      isReply: agent === undefined && line.type === "assistant",
      isSaid: line.type === "user" || line.type === "assistant",
    });
    const { externalId: name, parentExternalId: parent } = branch.session;
    let state = this.#states.get(name);
    if (state === undefined) {
      state = { branch, queue: new PromptQueue(branch), contentByUuid: new Map(), titles: {} };
      if (agent !== undefined) state.agent = agent;
      // A fork runs where its parent ran.
      else if (parent !== undefined) state.cwd = this.#states.get(parent)?.cwd;
      this.#states.set(name, state);
    }
    state.cwd ??= stringOf(line.cwd);
    return state;
  }

  protected override session(externalId: string): SessionFacts {
    const end = externalId.lastIndexOf("/agent-");
    return {
      externalId,
      source: IFLOW_SESSION.test(externalId) || IFLOW_FOLDER.test(this.file.path) ? "iflow" : "claude-code",
      parentExternalId: end === -1 ? undefined : externalId.slice(0, end),
      isSubagent: end !== -1,
    };
  }

  #agentOf(line: JsonObject): SubagentState {
    const named = stringOf(line.agentId) ?? /^agent-(.+)\.jsonl$/.exec(basename(this.file.path))?.[1];
    const followed = named === undefined ? this.#stateAt(line.parentUuid)?.agent : undefined;
    return followed ?? { id: named ?? stringOf(line.uuid) ?? "unknown", sessionId: this.#sessionId };
  }

  #stateAt(uuid: JsonValue | undefined): BranchState | undefined {
    const key = stringOf(uuid);
    if (key === undefined) return undefined;
    for (const branches of this.sessions) {
      const branch = branches.branchOf(key);
      if (branch !== undefined) return this.#states.get(branch.session.externalId);
    }
    return undefined;
  }

  protected override isReady({ session }: Branch, isFull: boolean): boolean {
    const { agent, relocatedCwd, cwd = relocatedCwd } = this.#states.get(session.externalId)!;
    if (cwd === undefined && !isFull) return false;
    const parent = agent && this.branches(agent.sessionId)?.root;
    return parent === undefined || (parent.isAnnounced && this.#calls.isLinked(agent!.id));
  }
}

function addReply(state: BranchState, line: JsonObject, id: string, number: number, messageId: string): void {
  const requestId = stringOf(line.requestId);
  const { parts, metadata } = messagesOf("assistant", objectOf(line.message).content ?? null)[0]!;
  if (state.reply?.messageId !== messageId || state.reply.requestId !== requestId) {
    state.reply = { messageId, requestId, callIds: new Set(), thought: undefined, entries: new Map() };
  }
  const { reply } = state;
  const fresh = parts.filter((part) => part.type !== "tool_call" || !reply.callIds.has(part.toolCallId));
  if (fresh.length === 0 && parts.length > 0) return;
  for (const callId of callIdsOf(fresh)) reply.callIds.add(callId);
  const entry = entryOf(line, id, number, { role: "assistant", parts: fresh, ...(metadata && { metadata }) });
  entry.reply = reply;
  if (reply.thought !== undefined) {
    const { id: thoughtId, metadata: known } = reply.thought.message;
    // Later lines have newer counts of the usage, and the stop reason.
    const message = { ...objectOf(known.message), ...objectOf(entry.message.metadata.message) };
    const uuids = [...(Array.isArray(known.uuids) ? known.uuids : [thoughtId]), id];
    entry.message.metadata = { uuids, ...(metadata as JsonObject), message };
  }
  state.branch.add(entry);
  // The words that follow a thought are in its message.
  reply.entries.set(id, reply.thought ?? entry);
  const isThought = fresh.length > 0 && fresh.every(({ type }) => type === "reasoning");
  reply.thought = isThought ? (reply.thought ?? entry) : undefined;
}

/** Marks a message of the newest reply that the program took back. It stays in its place, and nobody has said it. */
function retract({ reply }: BranchState, uuid: string): void {
  const message = reply?.entries.get(uuid)?.message;
  if (message === undefined) return;
  message.parts = injected(message.parts);
  message.metadata.isRetracted = true;
}

/** @returns the words of the user. */
function addUser(
  state: BranchState,
  line: JsonObject,
  id: string,
  number: number,
  content: JsonValue,
): MessageEntry | undefined {
  if (state.reply !== undefined) state.reply.thought = undefined;
  const said = messagesOf("user", content);
  const results = messageOfRole("tool", said);
  const words = messageOfRole("user", said);
  if (results !== undefined)
    state.branch.add(entryOf(line, words === undefined ? id : `${id}:result`, number, results));
  if (words === undefined) return undefined;
  const isMeta = line.isMeta === true;
  const entry = entryOf(line, id, number, isMeta ? { ...words, parts: injected(words.parts) } : words);
  entry.isPrompt = !isMeta;
  state.branch.add(entry);
  if (!entry.isPrompt) return entry;
  if (!state.reply?.requestId) state.reply = undefined;
  notePrompt(state, entry);
  return entry;
}

function notePrompt({ queue, agent }: BranchState, entry: MessageEntry): void {
  queue.see(entry);
  const [first] = entry.message.parts;
  if (agent && first?.type === "text") agent.prompt ??= first.text;
}

function addAttachment(state: BranchState, line: JsonObject, id: string, number: number): MessageEntry {
  const { prompt, ...about } = objectOf(line.attachment);
  const isQueued = about.type === "queued_command" && prompt !== undefined;
  const parts = isQueued ? [] : attachmentPartsOf(objectOf(line.attachment));
  const isOfHook = HOOK_ATTACHMENTS.has(about.type);
  const said: AdaptedMessage = isQueued ? wordsOf(prompt) : { role: "user", parts: isOfHook ? injected(parts) : parts };
  const entry = addAside(state, entryOf(line, id, number, said));
  if (!isQueued) return entry;
  entry.message.metadata.attachment = about;
  notePrompt(state, entry);
  return entry;
}

function keptFromOf({ compactMetadata }: JsonObject): string | undefined {
  return stringOf(objectOf(objectOf(compactMetadata).preservedSegment).headUuid);
}

/** Adds the `content` as a message of the user, like the model gets it. A system message would stay in every context. */
function addNote(
  state: BranchState,
  line: JsonObject,
  number: number,
  mark = (parts: Part[]): Part[] => parts,
): MessageEntry | undefined {
  const { content = null } = line;
  if (isRepeat(state, line, content)) return undefined;
  const id = stringOf(line.uuid) ?? derivedId(line.type, line.timestamp, content);
  const words = wordsOf(content);
  return addAside(state, entryOf(line, id, number, { ...words, parts: mark(words.parts) }));
}

function addAside(state: BranchState, entry: MessageEntry): MessageEntry {
  entry.isPrompt = false;
  entry.isAside = true;
  state.branch.add(entry);
  return entry;
}

function entryOf(line: JsonObject, id: string, number: number, said: AdaptedMessage): MessageEntry {
  const { role, parts, metadata } = said;
  return messageEntry(number, role, id, parts, timeOf(line), { ...metadataOf(line), ...metadata });
}

/** Returns true for a line that only Claude Code writes. Programs that were made from its format have other contents. */
function isOwnLine(line: JsonObject): boolean {
  const { type, sessionId, uuid, leafUuid, snapshot, message, attachment, data, subtype } = line;
  if (isJournal(line) || (type === "summary" && stringOf(leafUuid))) return true;
  if (type === "file-history-snapshot" && snapshot) return true;
  if (!stringOf(sessionId)) return false;
  switch (type) {
    case "user":
    case "assistant":
      return uuid !== undefined && isContent(objectOf(message).content);
    case "attachment":
      return stringOf(objectOf(attachment).type) !== undefined;
    case "progress":
      return stringOf(objectOf(data).type) !== undefined;
    case "system":
      return NOTE_SUBTYPES.has(subtype) || BOOKKEEPING_SUBTYPES.has(subtype);
    // A session that was only named or resumed has no other lines.
    case "ai-title":
    case "custom-title":
    case "queue-operation":
    case "relocated":
      return true;
    default:
      return BOOKKEEPING_TYPES.has(type);
  }
}

function isContent(content: JsonValue | undefined): boolean {
  return typeof content === "string" || Array.isArray(content);
}

function isRepeat({ contentByUuid }: BranchState, line: JsonObject, content: JsonValue): boolean {
  const uuid = stringOf(line.uuid);
  if (uuid === undefined) return false;
  const digest = contentId(content);
  const earlier = contentByUuid.get(uuid);
  if (earlier === undefined) contentByUuid.set(uuid, digest);
  return earlier === digest;
}

function wordsOf(content: JsonValue): AdaptedMessage {
  const said = messagesOf("user", content);
  return { ...said[0], role: "user", parts: said.flatMap(({ parts }) => parts) };
}

/** Returns true for words that the user typed, rather than results or reminders. */
function isPrompt({ type, uuid, isMeta, isCompactSummary, message }: JsonObject): boolean {
  if (type !== "user" || isMeta === true || isCompactSummary === true || !stringOf(uuid)) return false;
  const { content } = objectOf(message);
  if (typeof content === "string") return true;
  return Array.isArray(content) && !objectsOf(content).some((block) => block.type === "tool_result");
}
