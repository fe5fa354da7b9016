import { minuteOf } from "../core/times.ts";
import { withVerdict } from "../core/verdicts.ts";
import { titleOfSession } from "../models/title.ts";
import { lostNow } from "../session/aids/lost.ts";
import type { RecapTopic } from "../session/aids/recap.ts";
import { isSame } from "../session/aids/session-name.ts";
import { toldLines } from "../session/aids/told-lines.ts";
import { inPieces } from "../session/aids/told-pieces.ts";
import { openEnds, type WorkLine } from "../session/aids/work-lines.ts";
import type { QuickReader } from "../store/index.ts";
import { type Line, type Section, TOLD, titleOf } from "./quotation.ts";

type PartOfWork = Pick<RecapTopic, "lastAtMs" | "told" | "open" | "decided"> & { title: string | null };

/** How many of the last messages of users and assistants are read, from the newest session and from each earlier one. */
const SAID_MAX = 60;
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

/** Returns where a session stands that is about to be compacted. It may have messages of several. */
export function recordOfSession(reader: QuickReader, sessionIds: readonly string[]): Section[] {
  const sessions = sessionIds.flatMap((id) => reader.session(id) ?? []);
  /** A message that a fork shares is told once. */
  const owners = new Map<number, string>();
  const read = sessions.flatMap(({ id }, index) => {
    const words = reader.said(id, index === 0 ? SAID_MAX : SAID_EARLIER_MAX);
    // What comes last tells whether words before it closed a turn.
    const last = reader.notableBefore(id, { limit: 1 }).filter(({ seq }) => seq > (words.at(-1)?.seq ?? 0));
    const fresh = [...words, ...last].filter((message) => !owners.has(message.id));
    for (const message of fresh) owners.set(message.id, id);
    return fresh;
  });
  const told = toldLines(read, TOLD_TOKENS_MAX);
  return sessions
    .map(({ id, title, lastAtMs }, index) => ({
      title: titleOfSession(title, reader.opening(id)),
      lastAtMs,
      told: told.filter(({ messageId }) => owners.get(messageId) === id),
      open: index === 0 ? openEnds({ messages: reader }, id, read) : [],
      decided: [],
    }))
    .map(sectionOf);
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

/** Describes a part of the work. What is told stands in its order, and the newest is the most important. */
export function sectionOf({ title, lastAtMs, told, open, decided }: PartOfWork): Section {
  const shown = told.filter(({ by, text }) => by !== "user" || !isSame(text, title));
  const newlyDecided = decided.filter(({ text }) => !told.some((line) => line.text.includes(text)));
  const others = [
    ...open.slice(0, OPEN_MAX).map((end) => lineOf(end.kind, end)),
    ...newlyDecided.map((line) => lineOf("decided", line)),
  ].map((line) => ({ ...line, place: Number.MAX_SAFE_INTEGER }));
  return {
    name: "session",
    attributes: { title: titleOf(title), until: minuteOf(lastAtMs).slice(0, DAY_CHARS) },
    lines: inTurns<Line | Line[]>([
      inPieces(shown)
        .map((piece) => piece.map((line) => lineOf(TOLD, line)))
        .reverse(),
      others,
    ]),
  };
}

function lineOf(kind: string, { messageId, by, seq, ...said }: WorkLine): Line {
  return { kind, id: messageId, by, text: withVerdict(said), place: seq };
}

function inTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }).flatMap((_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1)));
}
