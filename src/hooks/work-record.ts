import { minuteOf } from "../core/times.ts";
import { titleOfSession } from "../models/title.ts";
import { lostNow } from "../session/aids/lost.ts";
import { toldLines } from "../session/aids/told-lines.ts";
import { openEnds, type WorkLine } from "../session/aids/work-lines.ts";
import type { QuickReader, QuickSession } from "../store/index.ts";
import { type Line, type Section, titleOf } from "./quotation.ts";

/** The most sessions of a project in a record. */
const SESSIONS_MAX = 14;
/** How many of the last messages of users and assistants are read, from the newest session and from each earlier one. */
const SAID_MAX = 30;
const SAID_EARLIER_MAX = 12;
/** The tokens of what is told, which leave room for open ends and the frame. */
const TOLD_TOKENS_MAX = 400;
/** `2026-11-29` */
const DAY_CHARS = 10;
/** A hook's answer has no room for more lines of what was lost. */
const LOST_LINES_MAX = 100;
/** The last folders of a file that tell it from others. */
const FOLDERS_MAX = 2;
/** The most open ends. */
const OPEN_MAX = 4;

/** Returns a section for each of a project's last sessions: what came out, what was asked, and what the newest left open. */
export function recordOfProject(reader: QuickReader, project: string, ownIds: ReadonlySet<string>): Section[] {
  const others = reader.sessions(project, SESSIONS_MAX + ownIds.size).filter(({ id }) => !ownIds.has(id));
  return sectionsOf(reader, others.slice(0, SESSIONS_MAX), [SAID_MAX, SAID_EARLIER_MAX]);
}

/** Returns where a session stands that is about to be compacted. */
export function recordOfSession(reader: QuickReader, sessionIds: readonly string[]): Section[] {
  const sessions = sessionIds.flatMap((id) => reader.session(id) ?? []);
  return sectionsOf(reader, sessions, [2 * SAID_MAX, SAID_EARLIER_MAX]);
}

/** Returns what the newest compaction of a session lost. The session is the one of these that was used last. */
export function recordOfLost(reader: QuickReader, sessionIds: readonly string[]): Section[] {
  const sessions = sessionIds.flatMap((id) => reader.session(id) ?? []);
  const newest = sessions.toSorted((left, right) => right.lastAtMs - left.lastAtMs)[0];
  const lost = newest && lostNow(reader, newest.id, LOST_LINES_MAX);
  if (newest === undefined || lost === undefined) return [];
  const lines = lost.lines.map(({ kind, messageId, by, text, place }): Line => {
    // A list of files needs no sources. Any of them is found by its name.
    if (kind === "file") return { kind: "files", by, text: endOf(text), place };
    return { kind, id: messageId, by, text, place }; // the times would take the room of a tenth of the sentences
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

/**
 * Describes sessions, the newest first. Earlier ones get no open ends, because most of these are closed by now.
 *
 * @param saidMax  How many of the last things said are read, of the first session and of each other one.
 */
function sectionsOf(
  reader: QuickReader,
  sessions: readonly QuickSession[],
  saidMax: readonly [number, number],
): Section[] {
  /** A message that a fork shares is told once, by the newest session that has it. */
  const owners = new Map<number, string>();
  const said = sessions.flatMap(({ id }, index) => {
    const words = reader.said(id, saidMax[Math.min(index, 1)]!);
    // What comes last tells whether words before it closed a turn.
    const last = reader.notableBefore(id, { limit: 1 }).filter(({ seq }) => seq > (words.at(-1)?.seq ?? 0));
    const fresh = [...words, ...last].filter((message) => !owners.has(message.id));
    for (const message of fresh) owners.set(message.id, id);
    return fresh;
  });
  const told = toldLines(said, TOLD_TOKENS_MAX);
  return sessions.map(({ id, title, lastAtMs }, index) => {
    const open = index > 0 ? [] : openEnds({ messages: reader }, id, said).map((end) => lineOf(end.kind, end));
    const own = told.filter(({ messageId }) => owners.get(messageId) === id);
    const lines = own.map(({ messageId, text, by, seq }): Line => {
      return { kind: by === "user" ? "asked" : "told", id: messageId, by, text, place: seq };
    });
    return {
      name: "session",
      attributes: {
        title: titleOf(titleOfSession(title, reader.opening(id))),
        until: minuteOf(lastAtMs).slice(0, DAY_CHARS),
      },
      lines: inTurns([
        lines.reverse(),
        open.slice(0, OPEN_MAX).map((line) => ({ ...line, place: Number.MAX_SAFE_INTEGER })),
      ]),
    };
  });
}

function lineOf(kind: string, { text, messageId, atMs, by }: Omit<WorkLine, "sessionId" | "seq">): Line {
  return { kind, id: messageId, atMs, by, text };
}

function inTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }).flatMap((_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1)));
}
