import { compactionNote } from "../core/compaction.ts";
import { baseName } from "../core/working-set.ts";
import { commitmentsIn, notTakenBack } from "../models/commitments.ts";
import { oneLine, plainText } from "../models/lines.ts";
import { weightsIn } from "../models/same-matter.ts";
import { sentencesOf } from "../models/sentences.ts";
import type { NotableMessage } from "../store/messages.ts";
import type { QuickReader } from "../store/quick-reader.ts";
import { seenIn } from "./lost-lines.ts";
import { openEndsIn, type WorkLine, workIn } from "./work-lines.ts";

/** The kinds of lost lines, in the order in which they are shown. */
export const LOST_KINDS = [
  "asked",
  "kept",
  "decided",
  "rejected",
  "error",
  "question",
  "task",
  "ran",
  "file",
  "line",
] as const;

/**
 * What was said or done before a compaction, and is not in the agent's summary.
 *
 * - `asked`: a request or a rule of the user; `kept`: what the user asked to be remembered, or settled.
 * - `decided`: a decision; `rejected`: a way that was tried or weighed, and not taken.
 * - `error`, `question`, `task`: an open end.
 * - `ran`: a command that worked; `file`: a file in work; `line`: a line that was written, read or said.
 */
export interface LostLine extends WorkLine {
  kind: (typeof LOST_KINDS)[number];
  /** Its place when the lines are ordered by kind, then by time. */
  place: number;
}

export interface Lost {
  sessionId: string;
  /** The id of the first message of the agent's summary. Null if the store does not have the summary yet. */
  summaryId: number | null;
  /** When the session was compacted, in Unix milliseconds. */
  atMs: number;
  /** The best first. Each beginning of the list is a fair share of what was asked and decided, of files and commands, and of lines. */
  lines: LostLine[];
}

/** The newest messages before a compaction whose lines are read. Of older ones, only what was said is. */
const SEEN_MAX = 240;
const SAID_MAX = 120;
/** The messages after it in which a user may have taken something back. */
const AFTER_MAX = 400;
const SUMMARIES_MAX = 1_000;

/** The lines of a file that are listed. Nobody reads further. */
const LINES_MAX = 400;
const FILES_MAX = 30;
const COMMANDS_MAX = 30;

/** The shares of what is said, of files and commands, and of lines in each beginning of the list. */
const SHARES = { said: 0.01, handy: 0.01, seen: 0.98 };
/** What a line costs beside its characters. */
const LINE_CHARS = 16;

/** The share of a sentence's words, by weight, that a sentence of the summary has if it says the same. */
const TOLD_SHARE = 0.6;

const REJECTED =
  /\b(?:(?:did|does|do|will|would|could)(?: not|n['’]t) (?:work|help|fit|scale)|(?:instead of|rather than)|revert(?:ed|ing)?|roll(?:ed|ing) back|abandon(?:ed|ing)|gave up|reject(?:ed|ing)?|rul(?:ed|ing) out|dead end|not an option|decided (?:against|not to))\b/i;

/**
 * Returns what the newest compaction of a session lost; undefined if the session was never compacted.
 *
 * @param isNow  True if the agent has just compacted the session. The store may not have its summary yet.
 */
export function lostAt(reader: QuickReader, sessionId: string, { isNow = false } = {}): Lost | undefined {
  const summaries = reader.compactSummaries(sessionId, SUMMARIES_MAX);
  const newest = summaries.at(-1);
  const after = newest === undefined ? [] : reader.notableBefore(sessionId, { limit: AFTER_MAX });
  const later = after.filter(({ seq }) => seq > (newest?.seq ?? 0));
  const isOld = newest === undefined || later.some(({ role }) => role === "assistant");
  if (isNow ? isOld : newest === undefined) {
    if (!isNow) return undefined;
    const before = messagesBefore(reader, sessionId, undefined);
    const last = before.at(-1);
    if (last === undefined) return undefined;
    return { sessionId, summaryId: null, atMs: last.createdAtMs, lines: lostIn(before, [], []) };
  }
  const summary = summaryWith(summaries);
  const [first] = summary;
  const before = messagesBefore(reader, sessionId, first!.seq);
  return {
    sessionId,
    summaryId: first!.id,
    atMs: first!.createdAtMs,
    lines: lostIn(before, summary, later),
  };
}

/** The messages of the newest summary: the last of the list, and those right before it. */
function summaryWith(summaries: readonly NotableMessage[]): NotableMessage[] {
  let from = summaries.length - 1;
  while (from > 0 && summaries[from - 1]!.seq === summaries[from]!.seq - 1) from -= 1;
  return summaries.slice(from);
}

function messagesBefore(reader: QuickReader, sessionId: string, seqEnd: number | undefined): NotableMessage[] {
  const seen = reader.notableBefore(sessionId, { ...(seqEnd !== undefined && { seqEnd }), limit: SEEN_MAX });
  const [first] = seen;
  return first === undefined ? [] : [...reader.said(sessionId, SAID_MAX, first.seq), ...seen];
}

/**
 * Returns what stood in messages and is not in the agent's summary.
 *
 * @param before  The messages before the compaction, in order.
 * @param summary  Those of the summary; empty if it is not known.
 * @param after  Later messages. What the user takes back in them is left out.
 */
export function lostIn(
  before: readonly NotableMessage[],
  summary: readonly NotableMessage[],
  after: readonly NotableMessage[],
): LostLine[] {
  const { keptFrom } = compactionNote(summary[0]?.metadata) ?? {};
  const own = before.filter(({ metadata }) => compactionNote(metadata) === undefined);
  const keptIndex = keptFrom === undefined ? -1 : own.findIndex(({ externalId }) => isNamed(externalId, keptFrom));
  const gone = keptIndex === -1 ? own : own.slice(0, keptIndex);
  const told = new Told([...summary, ...(keptIndex === -1 ? [] : own.slice(keptIndex))]);
  const streams = [
    { share: SHARES.said, lines: saidIn(gone, own, after, told) },
    { share: SHARES.handy, lines: [] as Unplaced[] },
    { share: SHARES.seen, lines: [] as Unplaced[] },
  ];
  const { lines, commands } = seenIn(gone);
  const { files } = workIn(gone);
  const ran = commands.filter(({ text }) => !told.has(text)).slice(0, COMMANDS_MAX);
  const named = files.filter(({ text }) => !told.has(baseName(text))).slice(0, FILES_MAX);
  streams[1]!.lines = inTurns([
    ran.map(({ text, message, position }) => unplaced("ran", { text, message, position })),
    named.map((file) => ({ kind: "file" as const, position: 0, ...file })),
  ]);
  streams[2]!.lines = lines
    .filter(({ text }) => !told.has(text))
    .slice(0, LINES_MAX)
    .map((line) => unplaced("line", line));
  return placed(woven(streams));
}

type Unplaced = Omit<LostLine, "place"> & { position: number };

function unplaced(
  kind: LostLine["kind"],
  { text, message, position }: { text: string; message: NotableMessage; position: number },
): Unplaced {
  const { id: messageId, sessionId, seq, createdAtMs: atMs } = message;
  return { kind, text: oneLine(text), sessionId, seq, messageId, atMs, position };
}

/** The messages of one line of a transcript have its id, and more behind it. */
function isNamed(externalId: string | null, name: string): boolean {
  return externalId !== null && (externalId === name || /^[/:]/.test(externalId.slice(name.length)) && externalId.startsWith(name));
}

function saidIn(
  gone: readonly NotableMessage[],
  own: readonly NotableMessage[],
  after: readonly NotableMessage[],
  told: Told,
): Unplaced[] {
  const byId = new Map(gone.map((message) => [message.id, message]));
  const users = [...own, ...after].filter(({ role }) => role === "user");
  const { asked, decided } = workIn(gone);
  const kept = commitmentsIn(users).flatMap((line): Unplaced[] => {
    const message = byId.get(line.messageId);
    return message === undefined ? [] : [unplaced("kept", { text: line.text, message, position: 0 })];
  });
  const of = (kind: LostLine["kind"], lines: readonly WorkLine[]): Unplaced[] =>
    lines.map(({ text, sessionId, seq, messageId, atMs }) => ({ kind, text, sessionId, seq, messageId, atMs, position: 0 }));
  const isRejected = ({ text }: WorkLine): boolean => REJECTED.test(text);
  const rules = decided.filter(({ messageId }) => byId.get(messageId)!.role === "user");
  const others = decided.filter((line) => !rules.includes(line));
  const lists = [
    of("asked", asked),
    [...kept].reverse(),
    of("asked", rules),
    of("decided", others.filter((line) => !isRejected(line))),
    of("rejected", others.filter(isRejected)),
    openEndsIn(gone).map((end) => ({ position: 0, ...end })),
  ];
  const seen: Unplaced[] = [];
  const inOrder = notTakenBack(inTurns(lists), users);
  for (const line of inOrder) {
    const repeats = (other: Unplaced): boolean => other.messageId === line.messageId && other.text.includes(line.text);
    if (!told.says(line.text) && !seen.some(repeats)) seen.push(line);
  }
  return seen;
}

/** What the agent still has: its summary, and the messages that it kept. */
class Told {
  readonly #text: string;
  readonly #sentences: ReadonlyMap<string, number>[];

  constructor(messages: readonly NotableMessage[]) {
    const texts = messages.map(({ text }) => plainText(text));
    this.#text = oneLine(texts.join("\n"));
    this.#sentences = texts.flatMap(sentencesOf).map(({ text }) => weightsIn(text));
  }

  has(text: string): boolean {
    return this.#text.includes(oneLine(text));
  }

  /** Returns true if a sentence has most of these words. */
  says(text: string): boolean {
    if (this.has(text)) return true;
    const words = [...weightsIn(text)];
    const whole = words.reduce((sum, [, weight]) => sum + weight, 0);
    return this.#sentences.some((sentence) => {
      const shared = words.reduce((sum, [word, weight]) => sum + (sentence.has(word) ? weight : 0), 0);
      return whole > 0 && shared >= TOLD_SHARE * whole;
    });
  }
}

/** Joins lists so that each has its share of the characters of every beginning. When one ends, the others go on. */
function woven(streams: readonly { share: number; lines: readonly Unplaced[] }[]): Unplaced[] {
  const joined: Unplaced[] = [];
  const open = streams.map(({ share, lines }) => ({ share, lines, next: 0, spent: 0 }));
  for (;;) {
    const left = open.filter(({ lines, next }) => next < lines.length);
    if (left.length === 0) return joined;
    const stream = left.reduce((best, other) => (other.spent / other.share < best.spent / best.share ? other : best));
    const line = stream.lines[stream.next++]!;
    stream.spent += line.text.length + LINE_CHARS;
    joined.push(line);
  }
}

function placed(lines: readonly Unplaced[]): LostLine[] {
  const rank = (line: Unplaced): number => LOST_KINDS.indexOf(line.kind);
  const inOrder = lines.toSorted(
    (left, right) =>
      rank(left) - rank(right) || left.seq - right.seq || left.messageId - right.messageId || left.position - right.position,
  );
  const places = new Map(inOrder.map((line, place) => [line, place]));
  return lines.map((line) => {
    const { position: _, ...told } = line;
    return { ...told, place: places.get(line)! };
  });
}

function inTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }).flatMap((_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1)));
}
