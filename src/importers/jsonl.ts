import { defined } from "../adapters/shared/own.ts";
import { ID_CHARS_MAX, TIME_MS_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import { callFieldOf } from "../core/raw-shape.ts";
import { sessionSettings } from "../core/settings.ts";
import type { ExportedOrigin, ImportEvent, ImportedSession, Importer } from "./importer.ts";
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

  protected override read({ value, line }: JsonLine): undefined {
    const warn = (reason: string) => this.warn(line, reason);
    if (isItemLine(value)) {
      this.#addItem(value, line, warn);
      return;
    }
    const { session: name, project, ...fields } = value;
    if (typeof name !== "string" || name === "") {
      warn("session: expected a name, as a string");
      return;
    }
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
    else if (project !== undefined) warn("project: expected a string");
    if (isSessionLine(fields)) this.#introduce(session, fields, warn);
    else if (isEntryLine(fields)) this.#addEntry(session, fields, line, warn);
    else if (session.isExported && Number.isSafeInteger(fields.seq)) this.#restore(session, fields, line, warn);
    else this.#addMessage(session, fields, line, warn);
  }

  #restore(session: SessionSoFar, fields: JsonObject, line: number, warn: (reason: string) => void): void {
    const { seq, ...rest } = fields as JsonObject & { seq: number };
    const isLaterCopy = seq <= session.copy.seqLast;
    if (isLaterCopy || session.copy.state !== "other") {
      const content = derivedId(rest);
      const earlier = session.named.get(`seq: ${seq}`);
      if (earlier === undefined) {
        session.copy.state = "first";
        const { name } = session;
        const event = checkedEvent({ kind: "restored", session: name, seq, message: messageOf(rest), line });
        if (event.kind === "restored") session.named.set(`seq: ${seq}`, { line, content });
        this.emit(event);
      } else if (earlier.content === content) session.copy.state = "again";
      else {
        session.copy.state = "other";
        warn(
          `seq: ${seq} is another message than on line ${earlier.line}, so the rest of this copy of the session is left out`,
        );
      }
    }
    session.copy.seqLast = seq;
  }

  #addMessage(session: SessionSoFar, fields: JsonObject, line: number, warn: (reason: string) => void): void {
    const id = fields.id ?? derivedId(session.lineCount, fields);
    session.lineCount++;
    if (typeof id !== "string") {
      warn(`id: expected a string, got ${JSON.stringify(id)}`);
      return;
    }
    this.#emitOnce(session, `id: ${JSON.stringify(id)}`, fields, warn, () => {
      const message = { ...messageOf(fields), id };
      const event = checkedEvent({ kind: "message", session: session.name, message, line });
      if (event.kind === "message" && session.known === undefined) {
        const { createdAt } = fields;
        this.#announce(session, createdAt === undefined ? {} : { createdAt });
      }
      return event;
    });
  }

  /** Passes over a message whose name an earlier line has, with a warning if that is another message. */
  #emitOnce(
    session: SessionSoFar,
    name: string,
    fields: JsonObject,
    warn: (reason: string) => void,
    eventOf: () => ImportEvent,
  ): void {
    const content = derivedId(fields);
    const earlier = session.named.get(name);
    if (earlier !== undefined) {
      if (earlier.content !== content) warn(`${name} names another message, on line ${earlier.line}`);
      return;
    }
    const event = eventOf();
    if (event.kind === "message") session.named.set(name, { line: event.line, content });
    this.emit(event);
  }

  #addEntry(session: SessionSoFar, fields: JsonObject, line: number, warn: (reason: string) => void): void {
    const { entry: value, id, createdAt } = fields;
    const createdAtMs = timeOf(createdAt ?? null);
    if (!isTime(createdAtMs)) warn("createdAt: an entry needs the time when it was made");
    else if (id !== undefined && (typeof id !== "string" || id === "" || id.length > ID_CHARS_MAX)) {
      warn(`id: expected a text of 1 to ${ID_CHARS_MAX} characters`);
    } else {
      const digest = derivedId(fields);
      const { state } = session.copy;
      if (state === "other" || (state === "again" && session.entries.has(digest))) return;
      if (session.isExported) session.entries.add(digest);
      if (session.known === undefined) this.#announce(session, { createdAt: createdAtMs });
      const entry = { value: value!, createdAtMs, ...(id !== undefined && { id }) };
      this.emit({ kind: "entry", session: session.name, entry, line });
    }
  }

  #addItem(fields: JsonObject, line: number, warn: (reason: string) => void): void {
    const { namespace, key, value, bytes, session, createdAt, updatedAt } = fields;
    const [createdAtMs, updatedAtMs] = [timeOf(createdAt ?? null), timeOf(updatedAt ?? null)];
    const isValue = bytes === undefined ? value !== undefined : typeof bytes === "string" && value === undefined;
    if (!isTime(createdAtMs) || !isTime(updatedAtMs)) warn("createdAt, updatedAt: an item needs both times");
    else if (session !== undefined && typeof session !== "string") warn("session: expected a name, as a string");
    else if (!isValue) warn("expected a value, or bytes in base64");
    else {
      const item = {
        ...{ namespace: namespace as string[], key: key as string, createdAtMs, updatedAtMs },
        value: typeof bytes === "string" ? new Uint8Array(Buffer.from(bytes, "base64")) : value!,
        ...(session !== undefined && { session }),
      };
      this.emit({ kind: "item", item, line });
    }
  }

  #introduce(session: SessionSoFar, fields: JsonObject, warn: (reason: string) => void): void {
    const introduction = JSON.stringify(fields);
    if (session.known !== undefined) {
      session.copy = { state: "again", seqLast: -1 };
      if (introduction !== session.introduction) {
        warn(`session: ${JSON.stringify(session.name)} has begun on an earlier line`);
      }
      return;
    }
    const known: JsonObject = {};
    for (const [field, value] of Object.entries(fields)) {
      if (SESSION_FIELDS[field]!(value)) known[field] = value;
      else warn(`${field}: not valid for a session: ${JSON.stringify(value)}`);
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
