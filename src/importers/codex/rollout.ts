import { basename } from "node:path";
import type { JsonValue, Part } from "../../core/message.ts";
import { Branches } from "../branches.ts";
import { derivedId } from "../derived-id.ts";
import { type Draft, draftOf } from "../draft.ts";
import type { ImportEvent, ImportedSession } from "../importer.ts";
import { isObject, type JsonObject } from "../lines.ts";
import { millisecondsOf, numberOf, objectOf, projectOf, saidOf, stringOf } from "../values.ts";
import { assistantPartsOf, contentPartsOf, resultPartOf, wordsOf } from "./content.ts";
import { BOOKKEEPING_EVENTS, BOOKKEEPING_ITEMS, BOOKKEEPING_TYPES, rolloutLineOf, TURN_ENDS } from "./line.ts";
import { ToldEvents } from "./told.ts";

/** How the words begin that Codex sends as the user's, about the surroundings. */
const CONTEXT = /^\s*(<(environment_context|user_instructions|turn_aborted|skill|user_shell_command)>|# AGENTS\.md)/;

/** Events that may come without the words they are for. */
const WORDED_EVENTS: ReadonlySet<unknown> = new Set([
  "agent_message",
  "agent_reasoning",
  "agent_reasoning_raw_content",
  "exited_review_mode",
  "user_message",
]);

/**
 * One rollout of Codex, taken in line by line.
 *
 * Reasoning, words and calls of one model call stand on lines of their own: each is a message, reasoning with what it leads
 * to, and calls that were made at once come one after the other, each with its answer. A call and its answer count once, by
 * their call id, however often they are written; but models of some providers number their calls anew in each turn, so what
 * says something else under the same id is another one. `compacted` is what the
 * agent goes on with instead of everything before: it becomes a marked message and takes nothing away.
 */
export class Rollout {
  readonly #path: string;
  readonly #told = new ToldEvents();
  /** Digests of calls, and of answers since the newest call, by call id. */
  readonly #calls = new Map<string, Set<string>>();
  readonly #answers = new Map<string, Set<string>>();
  readonly #seen = new Set<string>();
  #meta: JsonObject = {};
  #turn: JsonObject = {};
  #branches: Branches | undefined;
  /** What the next items of the assistant belong to. */
  #reply: object | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  *add(value: JsonObject, line: number): Generator<ImportEvent> {
    const found = rolloutLineOf(value);
    if (found === undefined) {
      yield { kind: "warning", line, reason: `unknown type of line: ${JSON.stringify(value.type ?? null)}` };
      return;
    }
    const { type, payload, timestamp } = found;
    switch (type) {
      case "session_meta":
        // A fork begins with its own and then repeats all of the session it was forked from.
        if (Object.keys(this.#meta).length === 0) this.#meta = payload;
        return;
      case "turn_context": {
        const { model, effort, cwd } = payload;
        this.#turn = saidOf({ model: model ?? null, effort: effort ?? null });
        if (this.#meta.cwd === undefined && cwd !== undefined) this.#meta = { ...this.#meta, cwd };
        return;
      }
      case "response_item":
        yield* this.#item(payload, timestamp, line);
        return;
      case "event_msg":
        yield* this.#event(payload, timestamp, line);
        return;
      case "compacted":
        yield* this.#compacted(payload, timestamp, line);
        return;
      case "inter_agent_communication":
        yield* this.#say([{ type: "data", data: payload }], payload, timestamp, line);
        return;
      default:
        if (BOOKKEEPING_TYPES.has(type)) return;
        yield { kind: "warning", line, reason: `unknown type of line: ${JSON.stringify(type)}` };
    }
  }

  /** What would come if the file ended here. @param isFinished  Nothing was written for long. */
  *pause(isFinished: boolean): Generator<ImportEvent> {
    if (isFinished) yield* this.#missing(true);
    if (this.#branches !== undefined) yield* this.#branches.pause(isFinished);
  }

  /** @param isFinished  Nothing will be written any more: what only events told comes as it is. */
  *finish(isFinished: boolean): Generator<ImportEvent> {
    yield* this.#missing(isFinished);
    if (this.#branches !== undefined) yield* this.#branches.finish(isFinished);
  }

  *#missing(isFinished: boolean): Generator<ImportEvent> {
    if (isFinished) yield* this.#settle();
    for (const { line, type } of this.#told.unsettled()) {
      yield { kind: "warning", line, reason: `${type}: its item is not in the file yet` };
    }
  }

  *#item(item: JsonObject, timestamp: string | undefined, line: number): Generator<ImportEvent> {
    const answer = resultPartOf(item);
    if (answer !== undefined) {
      yield* this.#answer(answer, timestamp, line);
      return;
    }
    const parts = assistantPartsOf(item);
    if (parts !== undefined) {
      yield* this.#assistant(item, parts, timestamp, line);
      return;
    }
    if (item.type === "agent_message") {
      // Agents of one session write to each other; what others say reaches the model like words of the user.
      const { author = null, recipient = null } = item;
      const about = saidOf({ type: item.type, author, recipient });
      yield* this.#say(contentPartsOf(item.content), item, timestamp, line, about);
    } else if (item.type === "message") {
      const content = contentPartsOf(item.content);
      this.#told.seeWords(wordsOf(content));
      yield* this.#say(content, item, timestamp, line);
    } else if (!BOOKKEEPING_ITEMS.has(item.type)) {
      yield { kind: "warning", line, reason: `unknown type of item: ${JSON.stringify(item.type ?? null)}` };
    }
  }

  *#assistant(item: JsonObject, parts: Part[], timestamp: string | undefined, line: number): Generator<ImportEvent> {
    if (this.#isRepeat(item, timestamp)) return;
    for (const part of parts) {
      if (part.type !== "tool_call") continue;
      if (isRepeated(this.#calls, part.toolCallId, part)) return;
      this.#answers.delete(part.toolCallId);
      this.#told.seeCall(part.toolCallId);
    }
    this.#told.seeWords(wordsOf(parts));
    const metadata = { ...this.#turn };
    const createdAt = millisecondsOf(timestamp);
    const draft = draftOf(line, "assistant", ["item", timestamp ?? null, item], parts, { createdAt, metadata });
    this.#reply ??= {};
    draft.reply = this.#reply;
    yield* this.#push(draft);
  }

  *#answer(part: Part & { toolCallId?: unknown }, timestamp: string | undefined, line: number): Generator<ImportEvent> {
    const id = part.toolCallId as string;
    if (isRepeated(this.#answers, id, part)) return;
    this.#told.seeCall(id);
    this.#reply = undefined;
    yield* this.#push(draftOf(line, "tool", `${id}:result`, [part], { createdAt: millisecondsOf(timestamp) }));
  }

  *#say(
    parts: Part[],
    item: JsonObject,
    timestamp: string | undefined,
    line: number,
    about: JsonObject = {},
  ): Generator<ImportEvent> {
    if (this.#isRepeat(item, timestamp)) return;
    // `developer` and `system` are the program's own words. A system message would head every context from now on.
    const metadata = { ...about, ...(item.role === "user" ? {} : saidOf({ role: item.role ?? null })) };
    this.#reply = undefined;
    const createdAt = millisecondsOf(timestamp);
    const draft = draftOf(line, "user", ["item", timestamp ?? null, item], parts, { createdAt, metadata });
    yield* this.#push(draft, item.role === "user" && !wordsOf(parts).every((text) => CONTEXT.test(text)));
  }

  *#event(event: JsonObject, timestamp: string | undefined, line: number): Generator<ImportEvent> {
    const { type } = event;
    if (type === "token_count") {
      const usage = objectOf(event.info).last_token_usage;
      const assistant = this.#branches?.current.assistant;
      if (isObject(usage) && assistant !== undefined) assistant.message.metadata.usage = usage;
    } else if (type === "thread_rolled_back") {
      yield* this.#settle();
      this.#reply = undefined;
      this.#branches?.backByPrompts(numberOf(event.num_turns) ?? 0);
    } else if (TURN_ENDS.has(type)) yield* this.#settle();
    else if (!this.#told.see(event, timestamp, line) && !BOOKKEEPING_EVENTS.has(type)) {
      const kind = type === "item_completed" ? `${type}, ${objectOf(event.item).type}` : (type ?? null);
      if (!WORDED_EVENTS.has(type)) {
        yield { kind: "warning", line, reason: `unknown type of event: ${JSON.stringify(kind)}` };
      }
    }
  }

  /** The turn is over: what its events told and no item did. */
  *#settle(): Generator<ImportEvent> {
    for (const draft of this.#told.settle()) {
      this.#reply = undefined;
      yield* this.#push(draft);
    }
  }

  *#compacted(payload: JsonObject, timestamp: string | undefined, line: number): Generator<ImportEvent> {
    const { message, replacement_history: replacement, ...about } = payload;
    const summary = stringOf(message);
    const parts: Part[] = summary === undefined ? [] : [{ type: "text", text: summary }];
    // The history to go on with repeats prompts of the user; what is new in it is the summary, or an encrypted one.
    for (const item of Array.isArray(replacement) ? replacement.filter(isObject) : []) {
      const isRepeated =
        item.type === "message" && wordsOf(contentPartsOf(item.content)).every((text) => this.#told.hasWords(text));
      if (item.type === "message" && !isRepeated) parts.push(...contentPartsOf(item.content));
      else if (item.type === "compaction" || item.type === "context_compaction")
        parts.push({ type: "data", data: item });
    }
    if (parts.length === 0) return;
    yield* this.#say(parts, payload, timestamp, line, {
      type: "compacted",
      isCompactSummary: true,
      ...saidOf(about),
    });
  }

  /** A line that is written twice, as some versions do when they resume. Without a time, it may be meant twice. */
  #isRepeat(item: JsonObject, timestamp: string | undefined): boolean {
    if (timestamp === undefined) return false;
    const digest = derivedId(timestamp, item);
    if (this.#seen.has(digest)) return true;
    this.#seen.add(digest);
    return false;
  }

  *#push(draft: Draft, isPrompt = false): Generator<ImportEvent> {
    yield* this.#live.push(draft.message.id, [draft], isPrompt);
  }

  get #live(): Branches {
    this.#branches ??= new Branches(this.#session());
    return this.#branches;
  }

  #session(): ImportedSession {
    const {
      id,
      cwd,
      source,
      forked_from_id: forkedFrom,
      parent_thread_id: started,
      timestamp: _,
      git,
      ...rest
    } = this.#meta;
    const { instructions: _i, base_instructions: _b, dynamic_tools: _d, history_base: base, ...about } = rest;
    const session: ImportedSession = {
      externalId: stringOf(id) ?? basename(this.#path).replace(/\.jsonl$/, ""),
      source: "codex",
    };
    const spawn = objectOf(objectOf(objectOf(source).subagent).thread_spawn);
    // A rollout that goes on in another file has itself for its base.
    const candidates = [spawn.parent_thread_id, started, forkedFrom, objectOf(base).thread_id].map(stringOf);
    const parent = candidates.find((candidate) => candidate !== undefined && candidate !== session.externalId);
    if (parent !== undefined) session.parentExternalId = parent;
    if (stringOf(cwd)) session.project = projectOf(cwd as string);
    session.metadata = saidOf({ cwd: cwd ?? null, git: git ?? null, source: source as JsonValue, ...about });
    return session;
  }
}

/** Whether the same was said under this id before. From now on it was. */
function isRepeated(known: Map<string, Set<string>>, id: string, part: Part): boolean {
  const digests = known.get(id) ?? new Set();
  known.set(id, digests);
  const { size } = digests;
  return digests.add(derivedId(part)).size === size;
}
