import { basename } from "node:path";
import type { JsonValue, Part, Role } from "../core/message.ts";
import { type MessageEntry, messageEntry } from "./entry.ts";
import { dataPartOf, type PlainPart, resultPart, textParts } from "./file-parts.ts";
import type { Importer } from "./importer.ts";
import { injected } from "./injected.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "./lines.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { booleanOf, derivedId, listOf, millisecondsOf, objectOf, saidOf, shortFieldsOf, stringOf } from "./values.ts";

/** Entries about the program. `context_edit` changes what the model gets from then on, and no entry. */
const BOOKKEEPING_TYPES: ReadonlySet<unknown> = new Set([
  "archive",
  "context_edit",
  "credential_pin",
  "custom",
  "label",
  "leaf",
  "mode_change",
  "model_change",
  "model_usage",
  "reset",
  "reset_boundary",
  "service_tier_change",
  "session_init",
  "thinking_level_change",
  "title_change",
  "ttsr_injection",
  "usage",
]);

const SAID_TYPES: ReadonlySet<unknown> = new Set(["message", "compaction", "branch_summary", "custom_message"]);

/**
 * Reads the sessions of pi: `~/.pi/agent/sessions/--<folder>--/<time>_<session>.jsonl`, of all versions of the format.
 *
 * A file is a tree of entries, in which the user can go back to any entry. A session that was forked into a new file begins with
 * copies of the entries before the fork, and becomes a session of its own.
 */
export const pi: Importer = {
  name: "pi",
  isFollowable: true,

  detect(head) {
    if (omp.detect(head) || isOfOpenclaw(head)) return false;
    for (const { type, id, cwd, version, parentId, message } of headObjects(head)) {
      if (type === "session_start") return false; // of Droid, whose messages look alike
      if (type === "session" && stringOf(id) && (typeof cwd === "string" || typeof version === "number")) return true;
      const isEntry = stringOf(id) !== undefined && (parentId === null || stringOf(parentId) !== undefined);
      if (!isEntry) continue;
      if (type === "message" ? stringOf(objectOf(message).role) : BOOKKEEPING_TYPES.has(type)) return true;
    }
    return false;
  },

  read: (file) => new PiTranslator(file, "pi").translate(readJsonLines(file)),
};

/** Reads the sessions of Oh My Pi, `~/.omp/agent/sessions/**`: those of pi, with a title in the first line or the header. */
export const omp: Importer = {
  name: "omp",
  isFollowable: true,

  detect: (head) =>
    headObjects(head).some(({ type, v, id, title, titleSource }) =>
      type === "title"
        ? typeof v === "number" && typeof title === "string"
        : type === "session" && stringOf(id) !== undefined && (title !== undefined || titleSource !== undefined),
    ),

  read: (file) => new PiTranslator(file, "omp").translate(readJsonLines(file)),
};

/** Returns true for the beginning of a session of OpenClaw, which notes its model at once and works in a folder of its own. */
export function isOfOpenclaw(head: string): boolean {
  return headObjects(head).some(({ type, cwd, customType, message, role }) => {
    if (role !== undefined) return false;
    if (type === "session") return /[\\/]\.openclaw(?:[\\/]|$)/.test(stringOf(cwd) ?? "");
    if (type === "message") return objectOf(message).provider === "openclaw";
    return type === "custom" && /^(?:model-snapshot$|openclaw[.:])/.test(stringOf(customType) ?? "");
  });
}

/**
 * Translates the entries of one file. What an extension or the program says is marked as injected: `custom` messages, summaries
 * of a branch that the user left, and the output of commands that the user ran.
 */
export class PiTranslator extends Translator<JsonLine, "pi" | "omp" | "openclaw"> {
  #header: JsonObject = {};
  #name: string | undefined;

  protected override read({ value: entry, line }: JsonLine): string | undefined {
    const { type } = entry;
    if (type === "session" || type === "title") {
      if (type === "session" && Object.keys(this.#header).length === 0) this.#header = entry;
      this.#name ??= stringOf(entry.title);
      return;
    }
    if (type === "title_change") this.#name = stringOf(entry.title) ?? this.#name;
    if (type === "session_info") this.#name = stringOf(entry.name);
    else if (!SAID_TYPES.has(type) && !BOOKKEEPING_TYPES.has(type)) {
      this.warn(line, `unknown type of entry: ${JSON.stringify(type ?? null)}`);
    }
    // The first version of the format was a list, without ids.
    const id = stringOf(entry.id) ?? derivedId(entry);
    const said = SAID_TYPES.has(type) ? entryOf(entry, id, line) : undefined;
    const branch = this.open().followTree({
      key: id,
      after: entry.parentId === null ? null : (stringOf(entry.parentId) ?? ""),
      line,
    });
    if (typeof said === "string") this.warn(line, said);
    else if (said !== undefined) {
      said.message.parts = this.marked(said);
      branch.add(said);
    }
  }

  /** Returns the parts of a message, in which the program's own are marked. */
  protected marked({ message }: MessageEntry): Part[] {
    return message.parts;
  }

  /** Returns what a file beside this one calls the session. */
  protected nameBeside(_sessionId: string): string | undefined {
    return undefined;
  }

  protected override end(): void {
    for (const branch of this.branches()?.all ?? []) {
      branch.title = this.#name ?? this.nameBeside(branch.session.externalId);
    }
  }

  protected override session(): SessionFacts {
    const { id, cwd, parentSession } = this.#header;
    return {
      externalId: stringOf(id) ?? sessionIdIn(this.file.path),
      source: this.given,
      parentExternalId: stringOf(parentSession) && sessionIdIn(parentSession as string),
      folder: stringOf(cwd),
      metadata: saidOf({ cwd }),
    };
  }
}

/** Returns the id in the name of a file, `<time>_<session>.jsonl`. */
function sessionIdIn(path: string): string {
  return basename(path.replaceAll("\\", "/"), ".jsonl").replace(/^[^_]*_/, "");
}

/** Returns undefined for an entry that says nothing, or the reason why it cannot be read. */
function entryOf(entry: JsonObject, id: string, line: number): MessageEntry | string | undefined {
  const { type, summary, content, timestamp, details, customType } = entry;
  const about = saidOf({ type, details: shortFieldsOf(objectOf(details)), customType });
  const say = (role: Role, parts: Part[], metadata: JsonObject, time = timestamp): MessageEntry | undefined => {
    if (parts.length === 0) return undefined;
    return messageEntry(line, role, id, parts, millisecondsOf(time) ?? millisecondsOf(timestamp), metadata);
  };
  switch (type) {
    case "message":
      return isObject(entry.message) ? messageOf(entry.message, say) : "message: expected an object";
    case "compaction":
      return say("user", partsOf(summary), {
        ...about,
        isCompactSummary: true,
        ...saidOf({ keptFrom: stringOf(entry.firstKeptEntryId) }),
      });
    case "branch_summary":
      return say("user", injected(partsOf(summary)), about);
    default:
      return say("user", injected(partsOf(content)), about);
  }
}

type Say = (role: Role, parts: Part[], metadata: JsonObject, time?: JsonValue) => MessageEntry | undefined;

function messageOf(message: JsonObject, say: Say): MessageEntry | string | undefined {
  const { role, content, timestamp, ...rest } = message;
  switch (role) {
    case "user":
      return say(role, partsOf(content), saidOf(rest), timestamp);
    case "assistant":
      return say(role, partsOf(content).map(callOrThoughtOf), saidOf(rest), timestamp);
    case "toolResult": {
      const { toolCallId, toolName, isError, details } = rest;
      if (!stringOf(toolCallId)) return "toolCallId: expected a string";
      const words = typeof content === "string" ? content : plainParts(content);
      const facts = { name: stringOf(toolName), isError: booleanOf(isError) };
      const result = resultPart(toolCallId as string, words, facts);
      return say("tool", [result], saidOf({ details: shortFieldsOf(objectOf(details)) }), timestamp);
    }
    case "bashExecution": {
      const { command, output, ...about } = rest;
      const parts = [...partsOf(stringOf(command) && `! ${command}`), ...injected(partsOf(output))];
      return say("user", parts, saidOf({ ...about, role }), timestamp);
    }
    // A system message would stay in every context from now on.
    case "system":
      return say("user", injected(partsOf(content)), { role }, timestamp);
    case "custom":
    case "hookMessage":
      return say("user", injected(partsOf(content)), saidOf({ ...shortFieldsOf(rest), role }), timestamp);
    case "branchSummary":
      return say("user", injected(partsOf(rest.summary)), { role }, timestamp);
    case "compactionSummary":
      return say("user", partsOf(rest.summary), { role, isCompactSummary: true }, timestamp);
    default:
      return `unknown role: ${JSON.stringify(role ?? null)}`;
  }
}

function partsOf(content: JsonValue | undefined): Part[] {
  return typeof content === "string" ? textParts(content) : plainParts(content);
}

function plainParts(content: JsonValue | undefined): PlainPart[] {
  return listOf(content).flatMap((block): PlainPart[] => {
    const { type, text, data, mimeType, ...rest } = objectOf(block);
    if (type === "text" && typeof text === "string") return text === "" ? [] : [{ ...rest, type, text }];
    if (type === "image" && typeof data === "string" && stringOf(mimeType)) {
      return [{ ...rest, type: "file", mediaType: mimeType as string, data }];
    }
    return [dataPartOf(block)];
  });
}

/** Returns a thought or a call of the model in its own form. All other parts stay as they are. */
function callOrThoughtOf(part: Part): Part {
  const {
    type,
    id,
    name,
    arguments: args,
    thinking,
    ...rest
  } = objectOf(part.type === "data" ? (part.data as JsonValue) : {});
  if (type === "thinking" && typeof thinking === "string") return { ...rest, type: "reasoning", text: thinking };
  if (type !== "toolCall" || !stringOf(id) || !stringOf(name)) return part;
  return { ...rest, type: "tool_call", toolCallId: id as string, name: name as string, args: args ?? {} };
}
