import { basename } from "node:path";
import type { Part, ToolResultPart } from "../../core/message.ts";
import { type MessageEntry, messageEntry } from "../entry.ts";
import { QUIET_MS } from "../files.ts";
import type { Importer } from "../importer.ts";
import { injected, markedParts } from "../injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "../lines.ts";
import { type SessionFacts, Translator } from "../translator.ts";
import { derivedId, millisecondsOf, numberOf, objectOf, saidOf, stringOf } from "../values.ts";
import { assistantPartsOf, contentPartsOf, resultPartOf, wordsOf } from "./content.ts";
import { CopiedPast } from "./copied-past.ts";
import { BOOKKEEPING_EVENTS, BOOKKEEPING_ITEMS, BOOKKEEPING_TYPES, rolloutLineOf, TURN_ENDS } from "./line.ts";
import { RepeatingEvents, type TurnEnd } from "./repeating-events.ts";
import { nameInIndex } from "./session-index.ts";

const TYPES: ReadonlySet<unknown> = new Set([
  "session_meta",
  "response_item",
  "event_msg",
  "turn_context",
  "compacted",
]);

/**
 * Reads the rollouts of Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl`, and those in `archived_sessions`.
 *
 * Prompts of the program (`developer`) become messages too, with their role in the metadata. `line.ts` lists the lines that are
 * skipped. An unknown line becomes a warning.
 */
export const codex: Importer = {
  name: "codex",
  isFollowable: true,

  detect(head) {
    for (const object of headObjects(head)) {
      if (TYPES.has(object.type) && object.payload !== undefined && stringOf(objectOf(object.payload).type ?? "x")) {
        return true;
      }
      // The first versions of Codex wrote the session as a line without `type`, and the state of its git tree as another line.
      const isMeta = object.type === undefined && rolloutLineOf(object)?.type === "session_meta";
      if ((isMeta && "instructions" in object) || object.record_type === "state") return true;
    }
    return false;
  },

  read: (file) => new CodexTranslator(file).translate(readJsonLines(file)),
};

interface LineInfo {
  line: number;
  timestamp: string | undefined;
}

/**
 * Translates the lines of a rollout.
 *
 * The reasoning, words and calls of one model call are on separate lines. Each line is a message, with reasoning joined to the
 * line that follows it. A call or an answer that is repeated under its call id counts once. Different content under a known id is
 * another call, because some models number their calls from 1 in each turn.
 *
 * After `compacted`, the agent gets a summary in place of everything before. Here the summary is a marked message and removes
 * nothing.
 */
class CodexTranslator extends Translator<JsonLine> {
  readonly #repeats = new RepeatingEvents();
  /** Digests of calls, and of answers since the newest call, by call id. */
  readonly #calls = new Map<string, Set<string>>();
  readonly #answers = new Map<string, Set<string>>();
  readonly #items = new Set<string>();
  #meta: JsonObject = {};
  #turn: JsonObject = {};
  #place: JsonObject = {};
  #hasMoved = false;
  #reply: object | undefined;
  #latestMs: number | undefined;
  readonly #copied = new CopiedPast();

  protected override read({ value, line }: JsonLine): string | undefined {
    const found = rolloutLineOf(value);
    if (found === undefined) return `unknown type of line: ${JSON.stringify(value.type ?? null)}`;
    const { type, payload, timestamp } = found;
    const info: LineInfo = { line, timestamp };
    this.#rest(millisecondsOf(timestamp));
    switch (type) {
      case "session_meta":
        this.#copied.begin(payload, millisecondsOf(timestamp));
        // The file of a fork begins with the fork's own description, and then repeats the session that it was forked from.
        if (Object.keys(this.#meta).length === 0) this.#meta = payload;
        this.#enter(payload);
        return;
      case "turn_context": {
        const { model, effort, cwd } = payload;
        this.#turn = saidOf({ model, effort });
        if (this.#meta.cwd === undefined && cwd !== undefined) this.#meta = { ...this.#meta, cwd };
        this.#enter(payload);
        return;
      }
      case "response_item":
        return this.#addItem(payload, info);
      case "event_msg":
        return this.#addEvent(payload, info);
      case "compacted":
        return this.#addCompacted(payload, info);
      case "inter_agent_communication":
        return this.#addWords([{ type: "data", data: payload }], payload, info);
      default:
        return BOOKKEEPING_TYPES.has(type) ? undefined : `unknown type of line: ${JSON.stringify(type)}`;
    }
  }

  /** An import may have read the file while it rested. What it would have told then keeps its id. */
  #rest(timeMs: number | undefined): void {
    if (timeMs === undefined) return;
    if (timeMs - (this.#latestMs ?? timeMs) > QUIET_MS) this.#endTurn();
    this.#latestMs = timeMs;
  }

  protected override end(isQuiet: boolean, isPause: boolean): void {
    if (isQuiet) this.#endTurn();
    else if (isPause) return;
    for (const { line, type } of this.#repeats.takeOpen()) {
      this.warn(line, `${type}: its item is not in the file yet`);
    }
  }

  #addItem(item: JsonObject, info: LineInfo): string | undefined {
    if (this.#copied.isKnown(item, millisecondsOf(info.timestamp))) return;
    const { type, author, recipient } = item;
    const answer = resultPartOf(item);
    if (answer !== undefined) return this.#addAnswer(answer, info);
    const parts = assistantPartsOf(item);
    if (parts !== undefined) return this.#addReply(item, parts, info);
    if (type !== "agent_message" && type !== "message") {
      return BOOKKEEPING_ITEMS.has(type) ? undefined : `unknown type of item: ${JSON.stringify(type ?? null)}`;
    }
    const content = contentPartsOf(item.content);
    // Agents of one session write to each other. The model gets such a message like words of the user.
    if (type === "agent_message") {
      return this.#addWords(content, item, info, { about: saidOf({ type, author, recipient }) });
    }
    // An event may have only the words of the user.
    const earlierIds = this.#repeats.seeWords([...wordsOf(content), ...ownWordsOf(content)]);
    return this.#addWords(content, item, info, { earlierIds });
  }

  #addReply(item: JsonObject, parts: Part[], { line, timestamp }: LineInfo): undefined {
    if (this.#isRepeat(item, timestamp)) return;
    const earlierIds: string[] = [];
    for (const part of parts) {
      if (part.type !== "tool_call") continue;
      if (isRepeated(this.#calls, part.toolCallId, part)) return;
      this.#answers.delete(part.toolCallId);
      earlierIds.push(...this.#repeats.seeCall(part.toolCallId).call);
    }
    earlierIds.push(...this.#repeats.seeWords(wordsOf(parts)));
    const untold = this.#repeats.untold(parts);
    if (untold.length === 0 && parts.length > 0) return;
    const id = derivedId("item", timestamp, item);
    const entry = messageEntry(line, "assistant", id, untold, millisecondsOf(timestamp), this.#turn);
    this.#reply ??= {};
    entry.reply = this.#reply;
    this.#add(entry, { earlierIds });
  }

  #addAnswer(part: ToolResultPart, { line, timestamp }: LineInfo): undefined {
    const id = part.toolCallId;
    if (isRepeated(this.#answers, id, part)) return;
    const { answer: earlierIds } = this.#repeats.seeCall(id);
    if (this.#repeats.untold([part]).length === 0) return;
    this.#reply = undefined;
    this.#add(messageEntry(line, "tool", `${id}:result`, [part], millisecondsOf(timestamp)), { earlierIds });
  }

  #addWords(
    parts: Part[],
    item: JsonObject,
    { line, timestamp }: LineInfo,
    { about = {}, earlierIds = [] }: { about?: JsonObject; earlierIds?: string[] } = {},
  ): undefined {
    if (this.#isRepeat(item, timestamp)) return;
    // `developer` and `system` are the program's own words. A system message would stay in every context from now on.
    const metadata = { ...about, ...(item.role === "user" ? {} : saidOf({ role: item.role })) };
    this.#reply = undefined;
    const id = derivedId("item", timestamp, item);
    const isOfProgram = item.role === "developer" || item.role === "system";
    const untold = this.#repeats.untold(parts);
    if (untold.length === 0 && parts.length > 0) return;
    const said = isOfProgram ? injected(untold) : untold;
    const entry = messageEntry(line, "user", id, said, millisecondsOf(timestamp), metadata);
    this.#add(entry, { earlierIds, isPrompt: item.role === "user" && ownWordsOf(parts).length > 0 });
  }

  #addEvent(event: JsonObject, info: LineInfo): string | undefined {
    const { type } = event;
    if (type === "token_count") {
      const usage = objectOf(event.info).last_token_usage;
      // The replies of the past that a fork repeats were paid for by the session from which it was forked.
      const isCopied = this.#copied.isRunning(millisecondsOf(info.timestamp));
      if (isObject(usage) && !isCopied) this.branches()?.current.amend({ usage });
    } else if (type === "thread_rolled_back") {
      this.#endTurn();
      this.#reply = undefined;
      this.branches()?.rewindPrompts(numberOf(event.num_turns) ?? 0);
    } else if (type === "thread_name_updated") this.title = stringOf(event.thread_name) ?? this.title;
    else if (TURN_ENDS.has(type)) this.#endTurn(TURN_ENDS.get(type));
    else if (!this.#repeats.see(event, info) && !BOOKKEEPING_EVENTS.has(type)) {
      const kind = type === "item_completed" ? `${type}, ${objectOf(event.item).type}` : (type ?? null);
      return `unknown type of event: ${JSON.stringify(kind)}`;
    }
  }

  #endTurn(how: TurnEnd = "aborted"): void {
    for (const entry of this.#repeats.takeUnrepeated(how)) {
      const isOfReply =
        entry.message.role === "assistant" && !entry.message.parts.some(({ type }) => type === "tool_call");
      if (!isOfReply) this.#reply = undefined;
      // The words may follow a thought that has its item.
      else if (this.#reply !== undefined) entry.reply = this.#reply;
      this.#add(entry);
    }
  }

  #addCompacted(payload: JsonObject, info: LineInfo): undefined {
    const { message, replacement_history: replacement, ...about } = payload;
    const summary = stringOf(message);
    const parts: Part[] = summary === undefined ? [] : [{ type: "text", text: summary }];
    // The replacement repeats prompts of the user. Only the summary in it is new, and may be encrypted.
    for (const item of Array.isArray(replacement) ? replacement.filter(isObject) : []) {
      const content = item.type === "message" ? contentPartsOf(item.content) : [];
      if (!wordsOf(content).every((text) => this.#repeats.hasWords(text))) parts.push(...content);
      if (item.type === "compaction" || item.type === "context_compaction") parts.push({ type: "data", data: item });
    }
    if (parts.length === 0) return;
    this.#addWords(parts, payload, info, { about: { type: "compacted", isCompactSummary: true, ...saidOf(about) } });
  }

  /** Returns true for a line that some versions write again on resume. A line without a time is always kept. */
  #isRepeat(item: JsonObject, timestamp: string | undefined): boolean {
    if (timestamp === undefined) return false;
    const { size } = this.#items;
    return this.#items.add(derivedId(timestamp, item)).size === size;
  }

  /** A session may go on in another folder. */
  #enter({ cwd }: JsonObject): void {
    this.#place = saidOf({ cwd: cwd === this.#meta.cwd && !this.#hasMoved ? undefined : cwd });
    this.#hasMoved ||= this.#place.cwd !== undefined;
  }

  #add(entry: MessageEntry, { isPrompt = false, earlierIds = [] as string[] } = {}): void {
    Object.assign(entry.message.metadata, this.#place);
    if (earlierIds.length > 0) entry.earlierIds = earlierIds;
    this.open().add([entry], "", isPrompt);
  }

  protected override session(): SessionFacts {
    const { id, cwd, source, forked_from_id, parent_thread_id, timestamp, git, ...rest } = this.#meta;
    const { instructions: _i, base_instructions: _b, dynamic_tools: _d, history_base: base, ...about } = rest;
    const externalId = stringOf(id) ?? basename(this.file.path, ".jsonl");
    const { subagent } = objectOf(source);
    const spawn = objectOf(objectOf(subagent).thread_spawn);
    // A session that continues in another rollout names itself as its base.
    const candidates = [spawn.parent_thread_id, parent_thread_id, forked_from_id, objectOf(base).thread_id].map(
      stringOf,
    );
    return {
      externalId,
      source: "codex",
      parentExternalId: candidates.find((candidate) => candidate !== undefined && candidate !== externalId),
      isSubagent: subagent !== undefined,
      folder: stringOf(cwd),
      title: nameInIndex(this.file.path, externalId),
      createdAtMs: millisecondsOf(timestamp),
      metadata: saidOf({ cwd, git, source, ...about }),
    };
  }
}

/** Returns the texts that the user wrote. Codex sends the state of its environment as the user, too. */
function ownWordsOf(parts: readonly Part[]): string[] {
  return wordsOf(markedParts(parts).filter((part) => part.injected !== true));
}

function isRepeated(known: Map<string, Set<string>>, id: string, part: Part): boolean {
  const digests = known.get(id) ?? new Set();
  known.set(id, digests);
  const { size } = digests;
  return digests.add(derivedId(part)).size === size;
}
