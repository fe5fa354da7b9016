import type { JsonValue } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import { sessionSettings } from "../core/settings.ts";
import { derivedId } from "./derived-id.ts";
import { headObjects } from "./detect.ts";
import type { ImportEvent, ImportedSession, Importer, ImportFile } from "./importer.ts";
import { isObject, type JsonObject, readJsonLines } from "./lines.ts";
import { messageEvent, restoredEvent } from "./message-event.ts";

/**
 * The neutral format, which `export` writes: one message a line,
 *
 *     {"session":"…","role":"user","content":"…"}
 *
 * with `parts` in place of `content`, and optionally `createdAt`, `project`, `id`, `name`, `pinned`, `metadata`. Any
 * other field goes into the message's metadata. `project` is the session's; the first line of the session that names
 * one is believed, if it comes before or with the session's first message.
 *
 * A line without `role`, `content` and `parts` speaks of the session itself: `project`, `title`, `parent` (the session that
 * started it), `createdAt`, `metadata`. `export` writes one before the messages of each session, with what brings it back
 * as it was: `source`, `externalId`, `forkSeq`, `settings`, and `seq` in each message, which then needs no id.
 *
 * A line without `id` gets one from its place among its session's lines and what it says. So the same file again, or
 * the same file with lines added at its end, names every message as before; a line put in between does not, and such a
 * file needs ids of its own.
 */
export const jsonl: Importer = {
  name: "jsonl",
  isFollowable: true,

  detect(head) {
    for (const { session, ...fields } of headObjects(head)) {
      if (typeof session !== "string") continue;
      if (typeof fields.role === "string" || (isObject(fields.settings) && isSessionLine(fields))) return true;
    }
    return false;
  },

  async *read(file: ImportFile): AsyncGenerator<ImportEvent> {
    const sessions = new Map<string, SessionSoFar>();
    for await (const found of readJsonLines(file)) {
      const { line } = found;
      if ("isPause" in found) {
        yield { kind: "paused" };
        continue;
      }
      if ("problem" in found) {
        yield { kind: "warning", line, reason: found.problem };
        continue;
      }
      const { session: name, project, ...fields } = found.value;
      if (typeof name !== "string" || name === "") {
        yield { kind: "warning", line, reason: "session: expected a name, as a string" };
        continue;
      }
      let session = sessions.get(name);
      if (session === undefined) {
        session = { lineCount: 0, started: false, introduction: undefined, isExported: false, idLines: new Map() };
        sessions.set(name, session);
      }
      if (typeof project === "string") session.project ??= project;
      else if (project !== undefined) yield { kind: "warning", line, reason: "project: expected a string" };
      if (isSessionLine(fields)) {
        yield* introduce(session, name, fields, line);
        continue;
      }
      if (session.isExported && Number.isSafeInteger(fields.seq)) {
        const { seq, ...message } = fields;
        yield restoredEvent(name, seq as number, message as JsonObject & { role: "user" }, line);
        continue;
      }
      const place = session.lineCount++;
      const id = fields.id ?? derivedId(place, fields);
      if (typeof id !== "string") {
        yield { kind: "warning", line, reason: `id: expected a string, got ${JSON.stringify(id)}` };
        continue;
      }
      const content = derivedId(fields);
      const earlier = session.idLines.get(id);
      if (earlier !== undefined) {
        if (earlier.content === content) continue;
        yield {
          kind: "warning",
          line,
          reason: `id: ${JSON.stringify(id)} names another message, on line ${earlier.line}`,
        };
        continue;
      }

      // `parseMessage` has the last word on the fields' types, and its refusal becomes the warning.
      const event = messageEvent(name, { ...(fields as JsonObject & { role: "user" }), id }, line);
      if (event.kind === "message") {
        session.idLines.set(id, { line, content });
        if (!session.started) {
          session.started = true;
          const { createdAt } = event.message;
          const known = createdAt === undefined ? {} : { createdAt };
          yield { kind: "session", session: sessionOf(name, session.project, known) };
        }
      }
      yield event;
    }
  },
};

interface SessionSoFar {
  lineCount: number;
  started: boolean;
  project?: string;
  /** What a line of its own says of it. */
  introduction: string | undefined;
  /** It comes from another store, and so do its messages. */
  isExported: boolean;
  idLines: Map<string, { line: number; content: string }>;
}

/** The fields that a line about a session may have, and what they must be. */
const SESSION_FIELDS: Record<string, (value: JsonValue) => boolean> = {
  project: () => true, // looked at already
  title: (value) => typeof value === "string",
  parent: (value) => typeof value === "string",
  createdAt: (value) => Number.isSafeInteger(timeOf(value)),
  metadata: isObject,
  source: (value) => typeof value === "string",
  externalId: (value) => typeof value === "string",
  forkSeq: Number.isSafeInteger,
  settings: isSettings,
};

function isSessionLine(fields: JsonObject): boolean {
  return Object.keys(fields).every((field) => Object.hasOwn(SESSION_FIELDS, field));
}

/** The session's own line: a session that nothing was said of before is announced with it. */
function* introduce(session: SessionSoFar, name: string, fields: JsonObject, line: number): Generator<ImportEvent> {
  const introduction = JSON.stringify(fields);
  if (session.started) {
    const reason = `session: ${JSON.stringify(name)} has begun on an earlier line`;
    if (introduction !== session.introduction) yield { kind: "warning", line, reason };
    return;
  }
  const known: JsonObject = {};
  for (const [field, value] of Object.entries(fields)) {
    if (SESSION_FIELDS[field]!(value)) known[field] = value;
    else yield { kind: "warning", line, reason: `${field}: not what a session can have: ${JSON.stringify(value)}` };
  }
  session.started = true;
  session.introduction = introduction;
  session.isExported = fields.settings !== undefined;
  yield { kind: "session", session: sessionOf(name, session.project, known, session.isExported) };
}

function sessionOf(
  externalId: string,
  project: string | undefined,
  known: JsonObject,
  isExported = false,
): ImportedSession {
  const { title, parent, createdAt, metadata, source, externalId: exportedId, forkSeq, settings } = known;
  const session: ImportedSession = { externalId, source: "jsonl" };
  if (project !== undefined) session.project = project;
  if (title !== undefined) session.title = title as string;
  if (parent !== undefined) session.parentExternalId = parent as string;
  if (createdAt !== undefined) session.createdAtMs = timeOf(createdAt);
  if (metadata !== undefined) session.metadata = metadata as JsonObject;
  if (isExported) {
    session.exported = {
      ...(source !== undefined && { source: source as string }),
      ...(exportedId !== undefined && { externalId: exportedId as string }),
      ...(forkSeq !== undefined && { forkSeq: forkSeq as number }),
      ...(settings !== undefined && { settings: settings as Partial<SessionSettings> }),
    };
  }
  return session;
}

/** Whether this version takes them; those of a newer one it may not. */
function isSettings(value: JsonValue): boolean {
  try {
    return isObject(value) && sessionSettings(value as Partial<SessionSettings>) !== undefined;
  } catch {
    return false;
  }
}

/** Unix milliseconds; NaN for what is no time. */
function timeOf(value: JsonValue): number {
  if (typeof value !== "number" && typeof value !== "string") return Number.NaN;
  return Math.trunc(typeof value === "number" ? value : Date.parse(value));
}
