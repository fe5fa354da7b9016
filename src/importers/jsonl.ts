import { defined } from "../adapters/shared/own.ts";
import { ID_CHARS_MAX, TIME_MS_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import { callFieldOf } from "../core/raw-shape.ts";
import { sessionSettings } from "../core/settings.ts";
import type { ExportedOrigin, ImportedSession, Importer } from "./importer.ts";
import { headObjects, isObject, type JsonLine, type JsonObject, readJsonLines } from "./lines.ts";
import { checkedEvent } from "./message-event.ts";
import { type SessionFacts, Translator } from "./translator.ts";
import { derivedId } from "./values.ts";

/**
 * Reads the neutral format, which `export` writes, with one message on each line:
 *
 *     {"session":"…","role":"user","content":"…"}
 *
 * A message may have `parts` instead of `content`, and `createdAt`, `project`, `id`, `name`, `pinned`, `metadata`. Any other
 * field goes into its metadata. `project` belongs to the session: the first value counts, unless it comes after the first
 * message.
 *
 * A line without `role`, `content` and `parts` describes the session: `project`, `title`, `parent` (the session that started it),
 * `createdAt`, `metadata`. `export` begins each session with such a line, which also has `source`, `externalId`, `forkSeq` and
 * `settings` to restore the session. Its messages have a `seq` and need no id.
 *
 * `export` also writes lines of entries, `{"session":"…","entry":…,"createdAt":0}` with an optional `id`, and of items,
 * `{"namespace":["…"],"key":"…","value":…,"createdAt":0,"updatedAt":0}`, with `bytes` in base64 or `value`, and an optional `session`.
 *
 * A message without `id` gets an id from its index in the session and its content. Lines added at the end of the file do not
 * change these ids. If lines are inserted elsewhere, the messages need their own ids.
 */
export const jsonl: Importer = {
  name: "jsonl",
  isFollowable: true,

  detect(head) {
    for (const line of headObjects(head)) {
      if (isItemLine(line)) return true;
      if (typeof line.session !== "string") continue;
      if (typeof line.role === "string") return true;
      if (!isObject(line.settings)) continue;
      const { session: _, ...fields } = line;
      if (isSessionLine(fields)) return true;
    }
    return false;
  },

  read: (file) => new JsonlTranslator(file).translate(readJsonLines(file)),
};

interface SessionSoFar {
  name: string;
  lineCount: number;
  /** The facts of the announced session that the file tells. */
  known?: JsonObject;
  project?: string;
  /** The JSON of the line that describes the session. */
  introduction?: string;
  isExported: boolean;
  /** The line and a digest of each message, by its `id` or `seq`. */
  named: Map<string, { line: number; content: string }>;
  /** A file may have several exports of a session, one after the other. This says where the lines stand. */
  copy: {
    /** `first`: the lines are new. `again`: an earlier export has them. `other`: they follow a message that differs, and are left out. */
    state: "first" | "again" | "other";
    seqLast: number;
  };
  entries: Set<string>;
}

/** Emits each message at once, because the file has the final order and ids. */
class JsonlTranslator extends Translator<JsonLine> {
  readonly #sessions = new Map<string, SessionSoFar>();

  protected override read({ value, line }: JsonLine): string | undefined {
    if (isItemLine(value)) return this.#addItem(value, line);
    const { session: name, project, ...fields } = value;
    if (typeof name !== "string" || name === "") return "session: expected a name, as a string";
    let session = this.#sessions.get(name);
    if (session === undefined) {
      session = {
        name,
        lineCount: 0,
        isExported: false,
        named: new Map(),
        copy: { state: "first", seqLast: -1 },
        entries: new Set(),
      };
      this.#sessions.set(name, session);
    }
    if (typeof project === "string") session.project ??= project;
    else if (project !== undefined) this.warn(line, "project: expected a string");
    if (isSessionLine(fields)) return this.#introduce(session, fields, line);
    if (isEntryLine(fields)) return this.#addEntry(session, fields, line);
    const isRestored = session.isExported && Number.isSafeInteger(fields.seq);
    return isRestored ? this.#restore(session, fields, line) : this.#addMessage(session, fields, line);
  }

  #restore(session: SessionSoFar, fields: JsonObject, line: number): string | undefined {
    const { seq, ...rest } = fields as JsonObject & { seq: number };
    const { copy, name, named } = session;
    const isLaterCopy = seq <= copy.seqLast;
    copy.seqLast = seq;
    if (!isLaterCopy && copy.state === "other") return;
    const content = derivedId(rest);
    const earlier = named.get(`seq: ${seq}`);
    if (earlier === undefined) {
      copy.state = "first";
      const event = checkedEvent({ kind: "restored", session: name, seq, message: messageOf(rest), line });
      if (event.kind === "restored") named.set(`seq: ${seq}`, { line, content });
      this.emit(event);
    } else if (earlier.content === content) copy.state = "again";
    else {
      copy.state = "other";
      return `seq: ${seq} is another message than on line ${earlier.line}, so the rest of this copy of the session is left out`;
    }
  }

  /** Passes over a message whose id an earlier line has. */
  #addMessage(session: SessionSoFar, fields: JsonObject, line: number): string | undefined {
    const id = fields.id ?? derivedId(session.lineCount, fields);
    session.lineCount++;
    const name = `id: ${JSON.stringify(id)}`;
    if (typeof id !== "string") return `id: expected a string, got ${JSON.stringify(id)}`;
    const content = derivedId(fields);
    const earlier = session.named.get(name);
    if (earlier?.content === content) return;
    if (earlier !== undefined) return `${name} names another message, on line ${earlier.line}`;
    const message = { ...messageOf(fields), id };
    const event = checkedEvent({ kind: "message", session: session.name, message, line });
    if (event.kind === "message") {
      session.named.set(name, { line, content });
      const { createdAt } = fields;
      if (session.known === undefined) this.#announce(session, createdAt === undefined ? {} : { createdAt });
    }
    this.emit(event);
  }

  #addEntry(session: SessionSoFar, fields: JsonObject, line: number): string | undefined {
    const { entry: value, id, createdAt } = fields;
    const createdAtMs = timeOf(createdAt ?? null);
    if (!isTime(createdAtMs)) return "createdAt: an entry needs the time when it was made";
    if (id !== undefined && (typeof id !== "string" || id === "" || id.length > ID_CHARS_MAX)) {
      return `id: expected a text of 1 to ${ID_CHARS_MAX} characters`;
    }
    const digest = derivedId(fields);
    const { state } = session.copy;
    if (state === "other" || (state === "again" && session.entries.has(digest))) return;
    if (session.isExported) session.entries.add(digest);
    if (session.known === undefined) this.#announce(session, { createdAt: createdAtMs });
    const entry = { value: value!, createdAtMs, ...(id !== undefined && { id }) };
    this.emit({ kind: "entry", session: session.name, entry, line });
  }

  #addItem(fields: JsonObject, line: number): string | undefined {
    const { namespace, key, value, bytes, session, createdAt, updatedAt } = fields;
    const [createdAtMs, updatedAtMs] = [timeOf(createdAt ?? null), timeOf(updatedAt ?? null)];
    const isValue = bytes === undefined ? value !== undefined : typeof bytes === "string" && value === undefined;
    if (!isTime(createdAtMs) || !isTime(updatedAtMs)) return "createdAt, updatedAt: an item needs both times";
    if (session !== undefined && typeof session !== "string") return "session: expected a name, as a string";
    if (!isValue) return "expected a value, or bytes in base64";
    const item = {
      ...{ namespace: namespace as string[], key: key as string, createdAtMs, updatedAtMs },
      value: typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "base64")) : value!,
      ...(session !== undefined && { session }),
    };
    this.emit({ kind: "item", item, line });
  }

  #introduce(session: SessionSoFar, fields: JsonObject, line: number): string | undefined {
    const introduction = JSON.stringify(fields);
    if (session.known !== undefined) {
      session.copy = { state: "again", seqLast: -1 };
      if (introduction === session.introduction) return;
      return `session: ${JSON.stringify(session.name)} has begun on an earlier line`;
    }
    const known: JsonObject = {};
    for (const [field, value] of Object.entries(fields)) {
      if (SESSION_FIELDS[field]!(value)) known[field] = value;
      else this.warn(line, `${field}: not valid for a session: ${JSON.stringify(value)}`);
    }
    session.introduction = introduction;
    session.isExported = fields.settings !== undefined;
    this.#announce(session, known);
  }

  #announce(session: SessionSoFar, known: JsonObject): void {
    session.known = known;
    this.emit({ kind: "session", session: defined(this.session(session.name)) as ImportedSession });
  }

  protected override session(externalId: string): SessionFacts {
    const { project, isExported, known } = this.#sessions.get(externalId)!;
    const { title, parent, createdAt, metadata, project: _, ...origin } = known!;
    return {
      externalId,
      source: "jsonl",
      parentExternalId: parent as string | undefined,
      project,
      title: title as string | undefined,
      createdAtMs: createdAt === undefined ? undefined : timeOf(createdAt),
      metadata: metadata as JsonObject | undefined,
      exported: isExported ? (origin as ExportedOrigin) : undefined,
    };
  }
}

/** Checks the value of each field in a line about a session. */
const SESSION_FIELDS: Record<string, (value: JsonValue) => boolean> = {
  project: () => true, // checked for every line
  title: (value) => typeof value === "string",
  parent: (value) => typeof value === "string",
  createdAt: (value) => isTime(timeOf(value)),
  metadata: isObject,
  source: (value) => typeof value === "string",
  externalId: (value) => typeof value === "string",
  forkSeq: Number.isSafeInteger,
  settings: isSettings,
};

const MESSAGE_FIELDS = ["role", "content", "parts", "name", "id", "createdAt", "pinned", "metadata"];

/** Returns the message of a line, whose types `checkedEvent` checks. Unknown fields go into its metadata, except one that is there already. */
function messageOf(fields: JsonObject): JsonObject & { role: "user" } {
  const { metadata = {} } = fields;
  const isOther = ([field, value]: [string, JsonValue]): boolean =>
    !MESSAGE_FIELDS.includes(field) &&
    isObject(metadata) &&
    !Object.hasOwn(metadata, field) &&
    callFieldOf({ [field]: value }) === undefined;
  const [others, own] = [Object.entries(fields).filter(isOther), Object.entries(fields).filter((one) => !isOther(one))];
  // A field may be named `__proto__`, so no field is assigned.
  const message = Object.fromEntries(own) as JsonObject & { role: "user" };
  return others.length === 0
    ? message
    : { ...message, metadata: { ...(metadata as JsonObject), ...Object.fromEntries(others) } };
}

const ENTRY_FIELDS = ["entry", "id", "createdAt"];

function isEntryLine(fields: JsonObject): boolean {
  return fields.entry !== undefined && Object.keys(fields).every((field) => ENTRY_FIELDS.includes(field));
}

const ITEM_FIELDS = ["namespace", "key", "value", "bytes", "session", "createdAt", "updatedAt"];

function isItemLine(line: JsonObject): boolean {
  const { namespace, key } = line;
  if (!Array.isArray(namespace) || typeof key !== "string") return false;
  const isText = (element: JsonValue) => typeof element === "string";
  return namespace.every(isText) && Object.keys(line).every((field) => ITEM_FIELDS.includes(field));
}

function isTime(ms: number): boolean {
  return Math.abs(ms) <= TIME_MS_MAX;
}

function isSessionLine(fields: JsonObject): boolean {
  return Object.keys(fields).every((field) => Object.hasOwn(SESSION_FIELDS, field));
}

/** Returns false for settings that only a newer version of Coppice knows. */
function isSettings(value: JsonValue): boolean {
  try {
    return isObject(value) && sessionSettings(value as Partial<SessionSettings>) !== undefined;
  } catch {
    return false;
  }
}

function timeOf(value: JsonValue): number {
  if (typeof value !== "number" && typeof value !== "string") return Number.NaN;
  return Math.trunc(typeof value === "number" ? value : Date.parse(value));
}
