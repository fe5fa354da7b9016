import { saidLines } from "../context/story/noted-lines.ts";
import { formatHandle } from "../core/handle.ts";
import { minuteOf } from "../core/times.ts";
import { saidOf } from "../models/notes.ts";
import { type LostLine, lostNow } from "../session/aids/lost.ts";
import { openEnds, type WorkLine } from "../session/aids/work-lines.ts";
import type { QuickReader, QuickSession } from "../store/index.ts";
import { type Line, type Section, titleOf } from "./quotation.ts";

/** The most sessions of a project in a record. */
const SESSIONS_MAX = 3;
/** How many of the last messages of users and assistants are read, from the newest session and from each earlier one. */
const SAID_MAX = 30;
const SAID_EARLIER_MAX = 12;
/** A hook's answer has no room for more lines of what was lost. */
const LOST_LINES_MAX = 100;
/** The last folders of a file that tell it from others. */
const FOLDERS_MAX = 2;
/** The most lines of each kind. */
const LINES_MAX = 4;

/** Returns a section for each of a project's last sessions: what was asked, decided, left open and worked on. */
export function recordOfProject(reader: QuickReader, project: string, ownIds: ReadonlySet<string>): Section[] {
  const others = reader.sessions(project, SESSIONS_MAX + ownIds.size).filter(({ id }) => !ownIds.has(id));
  return others.slice(0, SESSIONS_MAX).map((session, index) => {
    return sectionOf(reader, session, index === 0 ? SAID_MAX : SAID_EARLIER_MAX);
  });
}

/** Returns where a session stands that is about to be compacted. */
export function recordOfSession(reader: QuickReader, sessionIds: readonly string[]): Section[] {
  const sessions = sessionIds.flatMap((id) => reader.session(id) ?? []);
  return sessions.map((session) => sectionOf(reader, session, 2 * SAID_MAX));
}

/** The kinds of lines whose time says nothing about them. */
const TIMELESS: ReadonlySet<string> = new Set(["ran", "file", "line"] satisfies LostLine["kind"][]);

/** Returns what the newest compaction of a session lost. The session is the one of these that was used last. */
export function recordOfLost(reader: QuickReader, sessionIds: readonly string[]): Section[] {
  const sessions = sessionIds.flatMap((id) => reader.session(id) ?? []);
  const newest = sessions.toSorted((left, right) => right.lastAtMs - left.lastAtMs)[0];
  const lost = newest && lostNow(reader, newest.id, LOST_LINES_MAX);
  if (newest === undefined || lost === undefined) return [];
  const lines = lost.lines.map(({ kind, messageId, atMs, by, text, place }): Line => {
    // A list of files needs no sources. Any of them is found by its name.
    if (kind === "file") return { kind: "files", by, text: endOf(text), place };
    return { kind, id: messageId, by, text, place, ...(!TIMELESS.has(kind) && { atMs }) };
  });
  // Until the store has the summary, `lost` does not know of this compaction.
  const more = lost.summaryId === null ? undefined : "the coppice tool lost, or `coppice lost`";
  const attributes = { title: titleOf(newest.title), until: minuteOf(lost.atMs), more };
  return [{ name: "session", attributes, lines }];
}

/** Returns the name of a file with its last folders. */
function endOf(path: string): string {
  const folders = path.split("/");
  return folders.length <= FOLDERS_MAX + 1 ? path : `…/${folders.slice(-FOLDERS_MAX - 1).join("/")}`;
}

/** Describes a session. Earlier sessions get no open ends, because most of these are closed by now. */
function sectionOf(reader: QuickReader, session: QuickSession, saidMax: number): Section {
  const { id, title, lastAtMs } = session;
  const messages = reader.said(id, saidMax);
  const byId = new Map(messages.map((message) => [message.id, message]));
  const said = saidLines(
    messages.map((message) => ({ messageId: message.id, seq: message.seq, said: saidOf(message) })),
  );
  const linesOf = (kind: string, lines: readonly { text: string; messageId: number; seq: number }[]): Line[] =>
    lines
      .toSorted((left, right) => right.seq - left.seq)
      .map(({ text, messageId }) => {
        const { createdAtMs, role } = byId.get(messageId)!;
        return lineOf(kind, { text, messageId, atMs: createdAtMs, by: role });
      });
  const asked = linesOf("asked", said.asked);
  const decided = linesOf("decided", [...said.rules, ...said.decided]);
  const open = saidMax < SAID_MAX ? [] : openEnds({ messages: reader }, id).map((end) => lineOf(end.kind, end));
  const worked = reader.clusters(id, LINES_MAX).map(({ rootId, label, lastAtMs: atMs }): Line => {
    return { kind: "worked", handle: formatHandle("cluster", rootId), atMs, by: "coppice", text: label };
  });
  return {
    name: "session",
    attributes: { title: titleOf(title), until: minuteOf(lastAtMs) },
    lines: inTurns([asked, decided, open, worked].map((lines) => lines.slice(0, LINES_MAX))),
  };
}

function lineOf(kind: string, { text, messageId, atMs, by }: Omit<WorkLine, "sessionId" | "seq">): Line {
  return { kind, id: messageId, atMs, by, text };
}

function inTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }).flatMap((_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1)));
}
