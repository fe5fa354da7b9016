import type { BlockCache, BlockedMessage } from "../../context/digest/blocks.ts";
import type { StoryWriter } from "../../context/result.ts";
import { openErrors, pathOfActions, rankedFiles } from "../../context/story/noted-lines.ts";
import { buildStory, type LastWords, type StoryLines, toldTexts, wholeTokens } from "../../context/story/story.ts";
import type { Message } from "../../core/message.ts";
import type { NotedMessage } from "../../core/notes.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import { commitmentsIn, notTakenBack } from "../../models/commitments.ts";
import { NoteReader } from "../../models/notes.ts";
import { proseOf, type Told, type ToldMessage, ToldReader, toldIn } from "../../models/told.ts";
import type { NotableMessage, Repositories } from "../../store/index.ts";

/** The newest messages before the window whose actions, files and errors are read. */
const ACTED_MAX = 160;

/** The most messages before the window that a digest quotes. The worth of a line is halved every 120 messages. */
const BLOCKED_MAX = 800;
/** The most characters of their texts. A choice compares them all, and this is eight times the default context. */
const BLOCKED_CHARS_MAX = 512_000;

/** The share of both for a lasting digest. */
const LASTING_SHARE = 0.75;

/** The newest messages with words whose sentences are read, besides the first ones, which say what the session is for. */
const SAID_MAX = 800;
const FIRST_MAX = 16;

export interface ColdNotes {
  /** The first seq of the window. */
  seqEnd: number;
  acted: NotedMessage[];
  /** More of the newest messages, in blocks. */
  blocked: BlockedMessage[];
  /** In order. */
  told: ToldMessage[];
  /** What was said last by each. */
  last: LastWords[];
}

/**
 * Reads what a context says of the messages before the window. The time does not depend on the length of the session.
 *
 * @param before  The notes at an earlier frontier, unless a message was forgotten since. Only newer messages are then read.
 */
export function loadColdNotes(
  { messages }: Repositories,
  sessionId: string,
  seqEnd: number,
  before: ColdNotes | undefined,
  blocks: BlockCache,
): ColdNotes {
  const isLater = before !== undefined && before.seqEnd <= seqEnd;
  const rows = readBefore(messages, sessionId, isLater ? before.seqEnd : 0, seqEnd);
  const noteReader = new NoteReader();
  const fresh = rows.slice(-ACTED_MAX).map((message) => noteReader.of(message));
  const acted = isLater ? [...before.acted, ...fresh].slice(-ACTED_MAX) : fresh;
  const freshBlocks = rows.map((row) => blocks.of(row));
  const blocked = wholeSteps(newestWithin(isLater ? [...before.blocked, ...freshBlocks] : freshBlocks));
  blocks.dropBefore(blocked[0]?.seq ?? 0);
  const seqFrom = isLater ? before.seqEnd : 0;
  const fresher = toldBefore(messages, sessionId, seqFrom, rows[0]?.seq ?? seqEnd, toldBy(rows));
  const told = newestTold([...(isLater ? before.told : []), ...fresher], blocked[0]?.seq ?? seqEnd);
  const last = lastOf(rows, isLater ? before.last : []);
  return { seqEnd, acted, blocked, told, last };
}

/** Returns the last words of the user and of the agent in messages, or else those from before. */
function lastOf(messages: readonly (NotableMessage | Message)[], before: readonly LastWords[]): LastWords[] {
  return (["user", "assistant"] as const).flatMap((role) => {
    const by = role === "user" ? "user" : "agent";
    for (const message of messages.toReversed()) {
      const text = message.role === role ? proseOf(message) : "";
      if (text !== "") return { by, text, messageId: message.id, seq: message.seq };
    }
    return before.filter((words) => words.by === by);
  });
}

/** Returns what is told before `seqEnd`, the first messages and as many of the newest as are kept, and then `after`. */
function toldBefore(
  messages: Repositories["messages"],
  sessionId: string,
  seqFrom: number,
  seqEnd: number,
  after: readonly ToldMessage[],
): ToldMessage[] {
  let told = [...after];
  let end = seqEnd;
  while (end > Math.max(seqFrom, FIRST_MAX) && said(told).length < SAID_MAX) {
    const range = { seqFrom: Math.max(seqFrom, FIRST_MAX), seqEnd: end, limit: SAID_MAX };
    const older = messages.saidBefore(sessionId, range);
    told = [...toldBy(older), ...told];
    end = older.length < SAID_MAX ? 0 : older[0]!.seq;
  }
  const first = { seqFrom, seqEnd: Math.min(FIRST_MAX, seqEnd), limit: FIRST_MAX };
  return [...toldBy(messages.saidBefore(sessionId, first)), ...told];
}

/** Leaves out what is told by more than the newest messages, but for the first ones. Commits are kept as long as their lines. */
function newestTold(told: readonly ToldMessage[], seqOfCommits: number): ToldMessage[] {
  const seqMin = said(told).at(-SAID_MAX)?.seq ?? 0;
  return told.filter(({ seq, by }) => (by === "commit" ? seq >= seqOfCommits : seq >= seqMin || seq < FIRST_MAX));
}

function said(told: readonly ToldMessage[]): ToldMessage[] {
  return told.filter(({ by }) => by !== "commit");
}

/** Reads the messages before `seqEnd` that a digest quotes, and at least `ACTED_MAX`. Long texts are not read in vain. */
function readBefore(
  messages: Repositories["messages"],
  sessionId: string,
  seqFrom: number,
  seqEnd: number,
): NotableMessage[] {
  const rows: NotableMessage[] = [];
  for (let chars = 0; rows.length < BLOCKED_MAX && chars <= BLOCKED_CHARS_MAX; ) {
    const limit = Math.min(ACTED_MAX, BLOCKED_MAX - rows.length);
    const older = messages.notableBefore(sessionId, { seqFrom, seqEnd: rows[0]?.seq ?? seqEnd, limit });
    rows.unshift(...older);
    chars += older.reduce((sum, { text }) => sum + text.length, 0);
    if (older.length < limit) break;
  }
  return rows;
}

function newestWithin(messages: readonly BlockedMessage[], share = 1): BlockedMessage[] {
  const newest = messages.slice(-share * BLOCKED_MAX);
  let chars = 0;
  const last = newest.findLastIndex(({ text }) => {
    chars += text.length;
    return chars > share * BLOCKED_CHARS_MAX;
  });
  return newest.slice(last + 1);
}

/** Returns the newest messages before a seq, and so few of them that the next moves of the frontier give the same ones. */
export function lastingPast(blocked: readonly BlockedMessage[], seqEnd: number): BlockedMessage[] {
  return newestWithin(
    blocked.filter(({ seq }) => seq < seqEnd),
    LASTING_SHARE,
  );
}

/** Leaves out the rest of steps that begin earlier, because a result is judged by its call. */
function wholeSteps(messages: readonly BlockedMessage[]): BlockedMessage[] {
  const first = messages.findIndex(({ id, stepId }) => stepId === id);
  return first === -1 ? [] : messages.slice(first).filter(({ stepId }) => stepId >= messages[first]!.id);
}

export interface SessionStoryWriter extends StoryWriter {
  /** Returns what a story of about `tokensMax` tokens tells of the messages before the window: texts by message id, in order. */
  told(tokensMax: number): Map<number, string>;
}

export function storyWriter(cold: ColdNotes, tokenCounter: TokenCounter, blocks: BlockCache): SessionStoryWriter {
  const keptBefore = commitmentsIn(cold.blocked);
  const linesOf = (hidden: readonly Message[]): StoryLines => {
    const hiddenBlocks = hidden.map((message) => blocks.of(message));
    const kept = commitmentsIn(hiddenBlocks, keptBefore);
    const said = [...cold.blocked, ...hiddenBlocks];
    const noteReader = new NoteReader();
    const notes = [...cold.acted, ...hidden.map((message) => noteReader.of(message))];
    return {
      kept,
      told: stillTold(toldIn([...cold.told, ...toldBy(hidden)]), said),
      errors: openErrors(notes),
      actions: pathOfActions(notes),
      files: rankedFiles(notes),
      last: lastOf(hidden, cold.last),
    };
  };
  return {
    wholeTokens: wholeTokens(linesOf([]), tokenCounter),
    told: (tokensMax) => toldTexts(linesOf([]).told, tokensMax, tokenCounter),
    write: (hidden, tokensMax, { isTold, speakers }) => {
      const all = linesOf(hidden);
      const isUnseen = ({ by }: LastWords): boolean => !speakers.has(by === "user" ? "user" : "assistant");
      const lines = { ...all, last: all.last.filter(isUnseen) };
      return buildStory(
        isTold ? { ...lines, told: [], errors: [], actions: [], files: [] } : lines,
        tokensMax,
        tokenCounter,
      );
    },
  };
}

/** Leaves out what users said and took back. */
function stillTold(told: readonly Told[], messages: readonly BlockedMessage[]): Told[] {
  const kept = new Set(
    notTakenBack(
      told.filter(({ by }) => by === "user"),
      messages,
    ),
  );
  return told.filter((one) => one.by !== "user" || kept.has(one));
}

function toldBy(messages: readonly (NotableMessage | Message)[]): ToldMessage[] {
  const reader = new ToldReader();
  return messages.flatMap((message) => reader.of(message) ?? []);
}
