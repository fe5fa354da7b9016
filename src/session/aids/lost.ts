import { rankedFiles, saidLines } from "../../context/story/noted-lines.ts";
import { mayBeNote } from "../../core/artifacts.ts";
import { compactionNote } from "../../core/compaction.ts";
import type { Message } from "../../core/message.ts";
import { baseName } from "../../core/working-set.ts";
import { commitmentsIn, notTakenBack } from "../../models/commitments.ts";
import { oneLine, plainText } from "../../models/lines.ts";
import { namedFilesOf, saidOf } from "../../models/notes.ts";
import { isSameMatter } from "../../models/same-matter.ts";
import type { NotableMessage, QuickReader } from "../../store/index.ts";
import { type SeenLine, seenIn } from "./lost-lines.ts";
import { openEndsIn, sourcesIn, type WorkLine } from "./work-lines.ts";

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
  /** The `summaryId` of the session's compaction before this one; null if there was none. */
  earlierId: number | null;
  /** When the session was compacted, in Unix milliseconds. */
  atMs: number;
  /** The best first. Each beginning of the list is a fair share of what was asked and decided, of files and commands, and of lines. */
  lines: LostLine[];
}

/** The newest messages before a compaction whose lines are read, and the messages before these of which only what was said is. */
const SEEN_MAX = 160;
const SAID_MAX = 60;
/** The same right after the compaction, when an agent waits. A hook has room for the best lines only, and these are new. */
const SEEN_NOW_MAX = 60;
const SAID_NOW_MAX = 20;
/** The most messages that an agent keeps beside its summary. */
const KEPT_MAX = 1_000;
/** The newest things said after a compaction, in which a user may have taken something back. */
const AFTER_MAX = 100;
/** The messages of summaries that are looked at for the newest. */
const SUMMARIES_MAX = 8;

/** The most lines of each kind but `line`. */
const KIND_LINES_MAX = 12;

/** The newest messages whose files are listed. */
const FILES_MESSAGES_MAX = 40;

export const LOST_LIMIT_DEFAULT = 400;
/** The newest sessions among which a compacted one is looked for. */
export const LOST_SESSIONS_MAX = 200;

/** The shares of what is said, of files and commands, and of lines in each beginning of the list. */
const SHARES = { said: 0.28, handy: 0.12, seen: 0.6 };
/** What a line costs beside its characters. */
const LINE_CHARS = 16;

/** The share of a sentence's words that a sentence of the summary has if it says the same. */
const TOLD_SHARE = 0.6;
const SENTENCE_END = /\n|(?<=[.!?])\s/;
/** Shorter words are mostly common ones. */
const TELLING_WORD = /[\p{L}\p{N}_]{4,}|\p{N}+|[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/gu;

const REJECTED =
  /\b(?:(?:did|does|do|will|would|could)(?: not|n['’]t) (?:work|help|fit|scale)|(?:instead of|rather than)|revert(?:ed|ing)?|roll(?:ed|ing) back|abandon(?:ed|ing)|gave up|reject(?:ed|ing)?|rul(?:ed|ing) out|dead end|not an option|decided (?:against|not to))\b/i;

export interface LostOptions {
  /** By default the newest of the sessions that were compacted. */
  sessionId?: string;
  /** A message of the agent's summary. By default, the newest compaction of the session is meant. */
  summaryId?: number;
  /** Without `sessionId` and `summaryId`, only sessions of this project. */
  project?: string;
  /** The most lines: 0 to 10,000, by default 400. */
  limit?: number;
}

/**
 * Returns what a compaction of a session lost; undefined if there was none.
 *
 * @param options.of  A message of the agent's summary; by default one of the newest compaction.
 */
export function lostOf(
  reader: QuickReader,
  sessionId: string,
  { of, limit }: { of?: Pick<Message, "id" | "seq"> | undefined; limit: number },
): Lost | undefined {
  const seqEnd = of === undefined ? undefined : of.seq + SUMMARIES_MAX;
  const runs = runsIn(reader.compactSummaries(sessionId, 2 * SUMMARIES_MAX, seqEnd));
  const isMeant = ({ id }: NotableMessage): boolean => of === undefined || id === of.id;
  const index = runs.findLastIndex((run) => run.some(isMeant));
  const summary = runs[index];
  if (summary === undefined) return undefined;
  const after = reader.said(sessionId, AFTER_MAX).filter(({ seq }) => seq > summary.at(-1)!.seq);
  const before = reader.notableBefore(sessionId, { seqEnd: summary[0]!.seq, limit: SEEN_MAX });
  const lost = lostBefore(reader, sessionId, { summary, after, before, saidMax: SAID_MAX, limit });
  return lost && { ...lost, earlierId: runs[index - 1]?.[0]?.id ?? null };
}

type LostOfOne = Omit<Lost, "earlierId">;

/**
 * Returns what a compaction lost that has just happened; undefined for an empty session. The store may not have the agent's summary
 * yet. Then the compaction came after everything that is stored.
 */
export function lostNow(reader: QuickReader, sessionId: string, limit: number): LostOfOne | undefined {
  const newest = reader.notableBefore(sessionId, { limit: SEEN_NOW_MAX });
  const [summary = []] = runsIn(newest.filter(({ metadata }) => compactionNote(metadata) !== undefined)).slice(-1);
  const after = newest.filter(({ seq }) => seq > (summary.at(-1)?.seq ?? Number.MAX_SAFE_INTEGER));
  // If the agent has gone on since, the summary is of an earlier compaction.
  const isKnown = summary.length > 0 && !after.some(({ role }) => role === "assistant");
  const known = isKnown ? { summary, after } : { summary: [], after: [] };
  const before = isKnown ? newest.filter(({ seq }) => seq < summary[0]!.seq) : newest;
  return lostBefore(reader, sessionId, { ...known, before, saidMax: SAID_NOW_MAX, limit });
}

interface Compaction {
  /** Empty if it is not stored. */
  summary: readonly NotableMessage[];
  after: readonly NotableMessage[];
}

/** @param options.before  The newest messages before the compaction. */
function lostBefore(
  reader: QuickReader,
  sessionId: string,
  options: Compaction & { before: NotableMessage[]; saidMax: number; limit: number },
): LostOfOne | undefined {
  const { before, saidMax, limit, ...compaction } = options;
  const [first] = compaction.summary;
  const { gone, kept } = withoutKept(reader, sessionId, first, before);
  const newest = first ?? gone.at(-1);
  if (newest === undefined) return undefined;
  const said = gone.length === 0 ? [] : reader.said(sessionId, saidMax, gone[0]!.seq);
  const lines = lostIn({ ...compaction, gone: [...said, ...gone], kept }, limit);
  return { sessionId, summaryId: first?.id ?? null, atMs: newest.createdAtMs, lines };
}

/** Parts the messages that the agent has kept from those before. Of these, it returns as many as there are in the list. */
function withoutKept(
  reader: QuickReader,
  sessionId: string,
  summary: NotableMessage | undefined,
  before: NotableMessage[],
): { gone: NotableMessage[]; kept: NotableMessage[] } {
  const { keptFrom } = compactionNote(summary?.metadata) ?? {};
  if (keptFrom === undefined) return { gone: before, kept: [] };
  const pageBefore = ({ seq: seqEnd }: NotableMessage): NotableMessage[] => {
    return reader.notableBefore(sessionId, { seqEnd, limit: before.length });
  };
  let kept: NotableMessage[] = [];
  for (let page = before; page.length > 0 && kept.length < KEPT_MAX; page = pageBefore(page[0]!)) {
    const index = page.findIndex(({ externalId }) => isNamed(externalId, keptFrom));
    if (index !== -1) return { gone: pageBefore(page[index]!), kept: [...page.slice(index), ...kept] };
    kept = [...page, ...kept];
  }
  return { gone: before, kept: [] }; // the first message that was kept is not stored
}

/** Groups the messages that stand side by side in the session. */
function runsIn(messages: readonly NotableMessage[]): NotableMessage[][] {
  const runs: NotableMessage[][] = [];
  for (const message of messages) {
    if (runs.at(-1)?.at(-1)?.seq === message.seq - 1) runs.at(-1)!.push(message);
    else runs.push([message]);
  }
  return runs;
}

/** Returns what stood in the messages before a compaction and is neither in the agent's summary nor in what it kept. */
function lostIn(
  { summary, after, ...before }: Compaction & { gone: readonly NotableMessage[]; kept: readonly NotableMessage[] },
  limit: number,
): LostLine[] {
  // A summary of an earlier compaction tells what earlier messages say.
  const gone = before.gone.filter(({ metadata }) => compactionNote(metadata) === undefined);
  const told = new Told([...summary, ...before.kept]);
  const { lines, commands } = seenIn(gone);
  // Summaries name most files. Which ones a summary lacks is not known before it is.
  const files = summary.length === 0 ? [] : filesIn(gone.slice(-FILES_MESSAGES_MAX));
  const ran = firstOf(commands, KIND_LINES_MAX, ({ text, isFailure }) => !told.has(text) && isFailure?.() !== true);
  const named = firstOf(files, KIND_LINES_MAX, ({ text }) => !told.has(baseName(text)));
  const said = saidIn(gone, [...before.kept, ...after], told);
  const seen = firstOf(lines, limit, ({ text }) => !told.has(text) && !said.some((line) => line.text.includes(text)));
  const streams = [
    { share: SHARES.said, lines: said },
    {
      share: SHARES.handy,
      lines: inTurns([
        ran.map((line) => unplaced("ran", line)),
        named.map((file): Unplaced => ({ kind: "file", position: 0, ...file })),
      ]),
    },
    { share: SHARES.seen, lines: seen.map((line) => unplaced("line", line)) },
  ];
  return placed(woven(streams).slice(0, limit));
}

/** Returns the first items that pass a test. The others are not tested. */
function firstOf<T>(items: readonly T[], countMax: number, test: (item: T) => boolean): T[] {
  const found: T[] = [];
  for (const item of items) {
    if (found.length === countMax) break;
    if (test(item)) found.push(item);
  }
  return found;
}

type Unplaced = Omit<LostLine, "place"> & { position: number };

function unplaced(kind: LostLine["kind"], { text, message, by, position }: SeenLine): Unplaced {
  const { id: messageId, sessionId, seq, createdAtMs: atMs } = message;
  return { kind, text: oneLine(text), sessionId, seq, messageId, atMs, by, position };
}

/** The messages of one line of a transcript have its id, and more behind it. */
function isNamed(externalId: string | null, name: string): boolean {
  return (
    externalId !== null &&
    (externalId === name || (/^[/:]/.test(externalId.slice(name.length)) && externalId.startsWith(name)))
  );
}

function filesIn(messages: readonly NotableMessage[]): WorkLine[] {
  const notes = messages.map((message) => ({ messageId: message.id, seq: message.seq, files: namedFilesOf(message) }));
  return rankedFiles(notes).map(sourcesIn(messages));
}

/** Returns what was asked, decided and left open, in turns, each newest first. What is taken back in later messages is left out. */
function saidIn(gone: readonly NotableMessage[], later: readonly NotableMessage[], told: Told): Unplaced[] {
  const users = [...gone, ...later].filter(({ role }) => role === "user");
  const lineOf = sourcesIn(gone);
  const roles = new Map(gone.map(({ id, role }) => [id, role]));
  const of = (kind: LostLine["kind"], lines: readonly { text: string; messageId: number }[]): Unplaced[] =>
    lines.slice(0, KIND_LINES_MAX).map((line) => ({ kind, position: 0, ...lineOf(line) }));
  const talk = gone.filter(({ role }) => role === "user" || role === "assistant");
  const said = saidLines(talk.map((message) => ({ messageId: message.id, seq: message.seq, said: saidOf(message) })));
  const [decided, rejected] = [false, true].map((isRejected) => {
    return newestOfMatter(said.decided.filter(({ text }) => REJECTED.test(text) === isRejected));
  });
  const kept = commitmentsIn(users).filter(({ messageId }) => roles.has(messageId));
  const ends = openEndsIn(gone).map((end): Unplaced => ({ position: 0, ...end }));
  const lists = [
    of("asked", said.asked),
    of("kept", kept.reverse()),
    of("asked", said.rules),
    of("decided", decided!),
    of("rejected", rejected!),
    ends,
  ];
  const lines: Unplaced[] = [];
  for (const line of notTakenBack(inTurns(lists), users)) {
    const isPart = (other: Unplaced): boolean => other.messageId === line.messageId && other.text.includes(line.text);
    if (!told.says(line.text) && !lines.some(isPart)) lines.push(line);
  }
  return lines;
}

/** Leaves out the lines that a newer one is about, too. */
function newestOfMatter<Line extends { text: string }>(newestFirst: readonly Line[]): Line[] {
  const newest: Line[] = [];
  for (const line of newestFirst.slice(0, KIND_LINES_MAX)) {
    if (!newest.some(({ text }) => isSameMatter(text, line.text))) newest.push(line);
  }
  return newest;
}

/** What the agent still has: its summary, and the messages that it kept. */
class Told {
  readonly #text: string;
  /** The words of each sentence. */
  readonly #sentences: ReadonlySet<string>[];

  constructor(messages: readonly NotableMessage[]) {
    const texts = messages.map((message) => plainText(wholeTextOf(message)));
    this.#text = oneLine(texts.join("\n"));
    this.#sentences = texts.flatMap((text) => text.split(SENTENCE_END)).map(tellingWordsOf);
  }

  has(text: string): boolean {
    return this.#text !== "" && this.#text.includes(oneLine(text));
  }

  /** Returns true if a sentence has most of these words. */
  says(text: string): boolean {
    if (this.#sentences.length === 0) return false;
    if (this.has(text)) return true;
    const words = [...tellingWordsOf(text)];
    const countMin = Math.max(1, TOLD_SHARE * words.length);
    return this.#sentences.some((sentence) => {
      return sentence.size >= countMin && words.filter((word) => sentence.has(word)).length >= countMin;
    });
  }
}

function tellingWordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(TELLING_WORD));
}

/** A message's `text` is cut, and summaries are long. */
function wholeTextOf({ parts, text }: NotableMessage): string {
  const texts = parts.flatMap((part) => (part.type === "text" && !mayBeNote(part.text) ? [part.text] : []));
  return texts.length === 0 ? text : texts.join("\n");
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
      rank(left) - rank(right) ||
      left.seq - right.seq ||
      left.messageId - right.messageId ||
      left.position - right.position,
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
