import { basename } from "node:path";
import { fromGemini } from "../adapters/gemini.ts";
import type { Part } from "../core/message.ts";
import { adapted, entriesOf, type MessageEntry } from "./entry.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId, millisecondsOf, numberOf, objectOf, objectsOf, saidOf, stringOf } from "./values.ts";

/** Records about the program, and what its screen showed. */
const BOOKKEEPING: ReadonlySet<unknown> = new Set([
  "agent_bootstrap",
  "agent_launch_prompt",
  "agent_retry",
  "agent_session_ready",
  "at_command",
  "attribution_snapshot",
  "branch_checkpoint",
  "custom_title",
  "file_history_snapshot",
  "goal_runtime",
  "goal_state",
  "goal_turn_end",
  "omni_recall",
  "parent_session",
  "rewind",
  "session_approval_mode",
  "session_artifact_event",
  "session_artifact_snapshot",
  "session_execution_engine",
  "session_model",
  "session_notes",
  "session_source",
  "session_sources_snapshot",
  "slash_command",
  "turn_result",
  "ui_telemetry",
  "user_text_elements",
]);

/** What stands in the place of a prompt that the user did not write. */
const PROGRAM_PROMPTS: ReadonlySet<unknown> = new Set([
  "background_task_completed",
  "cron",
  "goal_runtime",
  "notification",
]);

const SAID_TYPES: ReadonlySet<unknown> = new Set(["user", "assistant", "tool_result"]);

/**
 * Reads the sessions of Qwen Code: `~/.qwen/projects/<folder>/chats/<session>.jsonl`, and those of its subagents. The contents of
 * the records are Gemini's. The recordings of its first versions are those of Gemini CLI.
 */
export const qwenCode: Importer = {
  name: "qwen-code",
  isFollowable: true,

  detect(head) {
    for (const { type, uuid, sessionId, cwd, message, subtype, systemPayload } of headObjects(head)) {
      if (!stringOf(uuid) || !stringOf(sessionId) || typeof cwd !== "string") continue;
      if (SAID_TYPES.has(type) && Array.isArray(objectOf(message).parts)) return true;
      if (
        type === "system" &&
        isObject(systemPayload) &&
        (BOOKKEEPING.has(subtype) || subtype === "chat_compression")
      ) {
        return true;
      }
    }
    return false;
  },

  read: (file) => new QwenTranslator(file).translate(readJsonLines(file)),
};

/**
 * Translates the records of one file, a tree in which the user can go back to any prompt. Records that say nothing are no places of
 * the tree: some of them are written beside the conversation, and the next record does not follow them.
 *
 * After a compression the model gets a summary and the newest messages. Here it removes nothing, and its new content is added.
 */
class QwenTranslator extends Translator<JsonLine> {
  #parent: string | undefined;
  /** For each record that says nothing, the record before it that does. */
  readonly #places = new Map<string, string | null>();
  readonly #known = new Set<string>();
  /** The newest reply of each subagent. A record has its words, and one record each its calls. */
  readonly #replies = new Map<string, object>();
  /** The newest record. */
  #record: JsonObject = {};

  protected override read({ value: record, line }: JsonLine): string | undefined {
    this.#record = record;
    const { type, subtype, message } = record;
    const payload = objectOf(record.systemPayload);
    const id = stringOf(record.uuid) ?? derivedId(record);
    const parent = stringOf(record.parentUuid);
    const after = parent === undefined ? (record.parentUuid === null ? null : "") : this.#placeOf(parent);
    const isCompression = type === "system" && subtype === "chat_compression";
    let entries: MessageEntry[] | string;
    if (isCompression) entries = this.#summary(payload, record, id, line);
    else if (SAID_TYPES.has(type)) {
      entries = isObject(message) ? this.#said(message, record, id, line) : "message: expected an object";
    } else if (type === "system" && (BOOKKEEPING.has(subtype) || PROGRAM_PROMPTS.has(subtype))) {
      entries = [];
      this.title = stringOf(payload.customTitle) ?? this.title;
      this.#parent ??= stringOf(payload.parentSessionId);
    } else entries = `unknown type of record: ${JSON.stringify(subtype ?? type ?? null)}`;
    if (typeof entries === "string" || entries.length === 0) {
      this.#places.set(id, after);
      return typeof entries === "string" ? entries : undefined;
    }
    const agent = stringOf(record.agentId) ?? "";
    const branch = this.open(agent).followTree({ key: id, after, line });
    const reply = this.#replies.get(agent) ?? {};
    this.#replies.delete(agent);
    for (const entry of entries) {
      if (agent !== "" && entry.message.role === "assistant") {
        entry.reply = reply;
        this.#replies.set(agent, reply);
      }
      branch.add(entry);
    }
  }

  #placeOf(id: string): string | null {
    const place = this.#places.get(id);
    return place === undefined ? id : place;
  }

  #said(message: JsonObject, record: JsonObject, id: string, line: number): MessageEntry[] | string {
    const { type, subtype, provenance, model, usageMetadata, toolCallResult, promptId } = record;
    const { status, errorType, callId } = objectOf(toolCallResult);
    const content = { ...message, role: type === "assistant" ? "model" : "user" };
    const said = contentsOf(content);
    if (typeof said === "string") return said;
    this.#known.add(derivedId(message.parts));
    const isFailed = status === "error" || status === "cancelled" || status === "failed";
    const isOfProgram =
      PROGRAM_PROMPTS.has(subtype) ||
      provenance === "goal_control" ||
      provenance === "goal_runtime" ||
      record.externalInputKind === "notification";
    const isOnly = said.flatMap(({ parts }) => parts).filter((part) => part.type === "tool_result").length === 1;
    // A response without an id answers the call that the record names.
    const answer = { ...(isFailed && { isError: true }), ...(isOnly && stringOf(callId) && { toolCallId: callId }) };
    const about = saidOf({ model, subtype, promptId, status: isFailed ? status : undefined, errorType });
    const marked = said.map(({ role, parts, metadata }) => {
      const usage = role === "assistant" ? saidOf({ tokens: tokensOf(objectOf(usageMetadata)) }) : {};
      const words = parts.map((part) => (part.type === "tool_result" ? ({ ...part, ...answer } as Part) : part));
      const isInjected = isOfProgram && role === "user";
      return { role, parts: isInjected ? injected(words) : words, metadata: { ...metadata, ...about, ...usage } };
    });
    return entriesOf(marked, line, id, millisecondsOf(record.timestamp));
  }

  #summary({ compressedHistory }: JsonObject, record: JsonObject, id: string, line: number): MessageEntry[] | string {
    const fresh = objectsOf(compressedHistory).filter(({ parts }) => {
      const isKept = objectsOf(parts).some((part) => isObject(part.functionCall) || isObject(part.functionResponse));
      return !isKept && !this.#known.has(derivedId(parts));
    });
    for (const { parts } of fresh) this.#known.add(derivedId(parts));
    const said = contentsOf(fresh);
    if (typeof said === "string") return said;
    return entriesOf(said, line, id, millisecondsOf(record.timestamp), { isCompactSummary: true });
  }

  protected override session(): SessionFacts {
    const { sessionId, agentId, cwd, gitBranch, forkedFrom } = this.#record;
    const name = stringOf(sessionId) ?? basename(this.file.path, ".jsonl");
    const agent = stringOf(agentId);
    return {
      externalId: agent === undefined ? name : `${name}/agent-${agent}`,
      source: "qwen-code",
      parentExternalId: agent === undefined ? (stringOf(objectOf(forkedFrom).sessionId) ?? this.#parent) : name,
      isSubagent: agent !== undefined,
      folder: stringOf(cwd),
      metadata: saidOf({ cwd, gitBranch }),
    };
  }
}

function contentsOf(contents: JsonObject | JsonObject[]) {
  return adapted(() => fromGemini(contents as never));
}

/** Returns the usage under the names that Gemini CLI gives it. Some providers count thoughts as output, and others beside it. */
function tokensOf({
  promptTokenCount,
  candidatesTokenCount,
  cachedContentTokenCount,
  totalTokenCount,
}: JsonObject): JsonObject {
  const [input, total] = [numberOf(promptTokenCount), numberOf(totalTokenCount)];
  const output = input === undefined || total === undefined ? candidatesTokenCount : total - input;
  return saidOf({ input, output, cached: cachedContentTokenCount, total });
}
