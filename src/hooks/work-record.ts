import { saidLines } from "../context/continuity/continuity.ts";
import { formatHandle } from "../core/handle.ts";
import { minuteOf } from "../core/times.ts";
import { notesOf } from "../models/notes.ts";
import { openEnds, workIn } from "../session/work-lines.ts";
import type { QuickReader, QuickSession } from "../store/quick-reader.ts";
import { type Line, type Section, titleOf } from "./quotation.ts";

/** The newest sessions of a project that a record tells of. */
const SESSIONS_MAX = 3;
/** The newest messages of a session that are read. */
const MESSAGES_MAX = 120;
const LINES_MAX = 4;

/** Returns where the work of a project stood in its last sessions: what was asked, decided and left open, and on what they worked. */
export function recordOfProject(reader: QuickReader, project: string, ownIds: ReadonlySet<string>): Section[] {
  const others = reader.sessions(project, SESSIONS_MAX + ownIds.size).filter(({ id }) => !ownIds.has(id));
  return others.slice(0, SESSIONS_MAX).map((session) => sectionOf(reader, session));
}

/** Returns where a session stood when it was compacted. */
export function recordOfSession(reader: QuickReader, sessionIds: readonly string[]): Section[] {
  return sessionIds.flatMap((id) => {
    const session = reader.session(id);
    return session === undefined ? [] : [sectionOf(reader, session)];
  });
}

function sectionOf(reader: QuickReader, { id, title, lastAtMs }: QuickSession): Section {
  const messages = reader.notableBefore(id, { limit: MESSAGES_MAX });
  const atMs = new Map(messages.map((message) => [message.id, message.createdAtMs]));
  const notes = messages.map((message) => ({
    messageId: message.id,
    seq: message.seq,
    stepId: message.stepId,
    ...notesOf(message),
  }));
  const lineOf = (kind: string, { text, messageId }: { text: string; messageId: number }): Line => {
    return { kind, id: messageId, atMs: atMs.get(messageId)!, text };
  };
  const asked = saidLines(notes).asked.map((line) => lineOf("asked", line));
  const decided = workIn(messages).decided.map((line) => lineOf("decided", line));
  const open = openEnds({ messages: reader }, id).map(({ kind, ...line }) => lineOf(kind, line));
  const worked = reader.clusters(id, LINES_MAX).map(({ rootId, label, lastAtMs: at }): Line => {
    return { kind: "worked", handle: formatHandle("cluster", rootId), atMs: at, text: label };
  });
  // The newest request comes first: it is what the work was about when it stopped.
  const [first, ...later] = asked;
  const requests = later.length > 0 ? [later[0]!, first!, ...later.slice(1)] : asked;
  return {
    name: "session",
    attributes: { title: titleOf(title), until: minuteOf(lastAtMs) },
    lines: inTurns([requests, decided, open, worked].map((lines) => lines.slice(0, LINES_MAX))),
  };
}

function inTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }).flatMap((_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1)));
}
