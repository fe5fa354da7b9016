import { rankedFiles } from "../../context/story/noted-lines.ts";
import { mayBeNote } from "../../core/artifacts.ts";
import type { Message } from "../../core/message.ts";
import { compactionNote } from "../../core/notes.ts";
import { baseName } from "../../core/working-set.ts";
import { commitmentsIn, notTakenBack } from "../../models/commitments.ts";
import { oneLine, plainText } from "../../models/lines.ts";
import { namedFilesOf } from "../../models/notes.ts";
import { rankTold, ToldReader, toldIn } from "../../models/told.ts";
import type { NotableMessage, QuickReader } from "../../store/index.ts";
import { type SeenLine, seenIn } from "./lost-lines.ts";
import { openEndsIn, sourcesIn, type WorkLine } from "./work-lines.ts";

/** The kinds of lost lines, in the order in which they are shown. */
export const LOST_KINDS = ["kept", "asked", "told", "error", "question", "task", "ran", "file", "line"] as const;

/**
 * What was said or done before a compaction, and is not in the agent's summary.
 *
 * - `kept`: what the user asked to be remembered, or settled.
 * - `asked`: a sentence of the user; `told`: one of the agent, of what was done, decided or found, or a commit.
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
  /** The best first. Each beginning of the list is a fair share of what was said, of files and commands, and of lines of the work. */
  lines: LostLine[];
}

/** The newest messages before a compaction whose lines are read, and the messages before these of which only what was said is. */
const SEEN_MAX = 160;
const SAID_MAX = 300;
/** The same right after the compaction, when an agent waits. A hook has room for the best lines only, and these are new. */
const SEEN_NOW_MAX = 60;
const SAID_NOW_MAX = 120;
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
const SHARES = { said: 0.75, handy: 0.13, seen: 0.12 };
/** For each line of the work there are so many others, but for the first lines of the work. */
const OTHERS_PER_SEEN = 3;
const SEEN_MIN = 4;
/** What a line costs beside its characters. */
const LINE_CHARS = 16;
const CHARS_PER_TOKEN = 4;
/** The sentences of a message share its element in the text of a hook. */
const SENTENCE_COSTS = {
  of: ({ text }: { text: string }): number => text.length / CHARS_PER_TOKEN,
  first: (): number => LINE_CHARS,
};

/** The share of a sentence's words that a sentence of the summary has if it says the same. */
const TOLD_SHARE = 0.6;
const SENTENCE_END = /\n|(?<=[.!?])\s/;
/** Shorter words are mostly common ones. */
const TELLING_WORD = /[\p{L}\p{N}_]{4,}|\p{N}+|[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/gu;

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
  const others = said.length + ran.length + named.length;
  const seenMax = Math.min(limit, Math.max(SEEN_MIN, Math.ceil(others / OTHERS_PER_SEEN)));
  const seen = firstOf(lines, seenMax, ({ text }) => !told.has(text) && !said.some((line) => line.text.includes(text)));
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

/** Returns what was said and left open, the best first. What is taken back in later messages is left out. */
function saidIn(gone: readonly NotableMessage[], later: readonly NotableMessage[], told: Told): Unplaced[] {
  const users = [...gone, ...later].filter(({ role }) => role === "user");
  const lineOf = sourcesIn(gone);
  const ids = new Set(gone.map(({ id }) => id));
  const isUntold = ({ text }: { text: string }): boolean => !told.says(text);
  const kept = commitmentsIn(users).filter(({ messageId }) => ids.has(messageId));
  const others = notTakenBack(
    [
      ...kept.reverse().map((line): Unplaced => ({ kind: "kept", position: 0, ...lineOf(line) })),
      ...openEndsIn(gone).map((end): Unplaced => ({ position: 0, ...end })),
    ],
    users,
  ).filter(isUntold);
  const reader = new ToldReader();
  const sentences = toldIn(gone.flatMap((message) => reader.of(message) ?? [])).map((one, position) => ({
    ...one,
    position,
  }));
  const said = notTakenBack(sentences, users).filter((one) => {
    const isOther = others.some((line) => line.messageId === one.messageId && line.text.includes(one.text));
    return isUntold(one) && !isOther;
  });
  const ranked = rankTold(said, SENTENCE_COSTS).map(({ by, position, ...line }): Unplaced => {
    return { kind: by === "user" ? "asked" : "told", position, ...lineOf(line) };
  });
  return inTurns([ranked, others]);
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
  // The sentences of users and agents stand together, in the order in which they were said.
  const rank = ({ kind }: Unplaced): number => LOST_KINDS.indexOf(kind === "told" ? "asked" : kind);
  const inOrder = lines.toSorted(
    (left, right) =>
      rank(left) - rank(right) ||
      left.seq - right.seq ||
      left.messageId - right.messageId ||
      left.position - right.position,
  );
  const places = new Map(inOrder.map((line, place) => [line, place]));
  return lines.map((line) => {
    const { position: _, ...lost } = line;
    return { ...lost, place: places.get(line)! };
  });
}

function inTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }).flatMap((_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1)));
}
