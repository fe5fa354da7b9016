import {
  buildContinuity,
  type ContinuityTopics,
  continuityShare,
  continuityTopics,
  keptTokens,
} from "../../context/continuity/continuity.ts";
import { NameRanks } from "../../context/continuity/noted-lines.ts";
import { indexOf } from "../../context/digest/block-index.ts";
import type { BlockCache, BlockedMessage } from "../../context/digest/blocks.ts";
import type { ContinuityWriter } from "../../context/result.ts";
import type { Message } from "../../core/message.ts";
import type { NotedMessage } from "../../core/notes.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import { commitmentsIn } from "../../models/commitments.ts";
import { NoteReader } from "../../models/notes.ts";
import type { NotableMessage, Repositories } from "../../store/index.ts";

/** The most messages before the window whose notes are read. Reading one takes about 0.1 ms, and older messages matter little. */
const MESSAGES_MAX = 160;

/** The most messages before the window that a digest quotes. The worth of a line is halved every 120 messages. */
const BLOCKED_MAX = 800;
/** The most characters of their texts. A choice compares them all, and this is eight times the default context. */
const BLOCKED_CHARS_MAX = 512_000;

/** The share of both for a lasting digest. */
const LASTING_SHARE = 0.75;

/** The user messages of this many newest turns are read, however old they are, because a user's rule stays valid. */
const TURNS_MAX = 24;

/** The session's first request is looked for in this many messages. */
const FIRST_MAX = 16;

export interface ColdNotes {
  /** The first seq of the window. */
  seqEnd: number;
  newest: NotedMessage[];
  /** More of the newest messages, in blocks. */
  blocked: BlockedMessage[];
  /** The user messages of the newest turns. */
  asked: NotedMessage[];
  first: NotedMessage[];
}

/**
 * Reads the notes for continuity. The time does not depend on the length of the session.
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
  const read = (range: { seqFrom: number; seqEnd: number; limit: number }) =>
    noted(messages.notableBefore(sessionId, range));
  const isLater = before !== undefined && before.seqEnd <= seqEnd;
  const rows = readBefore(messages, sessionId, isLater ? before.seqEnd : 0, seqEnd);
  const fresh = noted(rows.slice(-MESSAGES_MAX));
  const newest = isLater ? [...before.newest, ...fresh].slice(-MESSAGES_MAX) : fresh;
  const freshBlocks = rows.map((row) => blocks.of(row));
  const blocked = wholeSteps(newestWithin(isLater ? [...before.blocked, ...freshBlocks] : freshBlocks));
  blocks.dropBefore(blocked[0]?.seq ?? 0);
  const known = new Map([...(before?.asked ?? []), ...newest].map((message) => [message.seq, message]));
  const asked = messages.turnsBefore(sessionId, seqEnd, TURNS_MAX).flatMap((seq) => {
    const message = known.get(seq);
    return message !== undefined ? [message] : read({ seqFrom: seq, seqEnd: seq + 1, limit: 1 });
  });
  const isComplete = isLater && before.seqEnd >= FIRST_MAX;
  const first = isComplete ? before.first : read({ seqFrom: 0, seqEnd: Math.min(FIRST_MAX, seqEnd), limit: FIRST_MAX });
  return { seqEnd, newest, blocked, asked: asked.reverse(), first };
}

/** Reads the messages before `seqEnd` that a digest quotes, and at least `MESSAGES_MAX`. Long texts are not read in vain. */
function readBefore(
  messages: Repositories["messages"],
  sessionId: string,
  seqFrom: number,
  seqEnd: number,
): NotableMessage[] {
  const rows: NotableMessage[] = [];
  for (let chars = 0; rows.length < BLOCKED_MAX && chars <= BLOCKED_CHARS_MAX; ) {
    const limit = Math.min(MESSAGES_MAX, BLOCKED_MAX - rows.length);
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

export function continuityWriter(cold: ColdNotes, tokenCounter: TokenCounter, blocks: BlockCache): ContinuityWriter {
  const old = coldMessages(cold);
  const kept = commitmentsIn(cold.blocked);
  const nameRanks = new NameRanks(indexOf(cold.blocked, tokenCounter));
  const hiddenNotes = new Map<number, NotedMessage>();
  const noteReader = new NoteReader();
  const notesOfHidden = (message: Message): NotedMessage => {
    const known = hiddenNotes.get(message.id) ?? noteReader.of(message);
    hiddenNotes.set(message.id, known);
    return known;
  };
  const topicsOf = (hidden: readonly Message[], inWindow: ReadonlySet<string>): ContinuityTopics => {
    const bySeq = new Map([...old, ...hidden.map(notesOfHidden)].map((message) => [message.seq, message]));
    const notes = [...bySeq.values()].sort((left, right) => left.seq - right.seq);
    const commitments = commitmentsIn(
      hidden.map((message) => blocks.of(message)),
      kept,
    );
    return continuityTopics(notes, inWindow, tokenCounter, commitments);
  };
  let last: { hidden: readonly Message[]; topics: ContinuityTopics } | undefined;
  return {
    share: continuityShare(old),
    keptTokens: keptTokens(kept, tokenCounter),
    write: (hidden, tokensMax, { inWindow, inDigest, isTold }, roomMax) => {
      if (last?.hidden !== hidden || last.topics.inWindow !== inWindow)
        last = { hidden, topics: topicsOf(hidden, inWindow) };
      const rankedNames = nameRanks.ranked(hidden.map((message) => blocks.of(message)));
      const topics = isTold ? { ...last.topics, said: [] } : last.topics;
      return buildContinuity(topics, rankedNames, inDigest, tokensMax, tokenCounter, roomMax);
    },
  };
}

/** Returns each message once: the first request, the user messages of the newest turns, and the newest messages. */
function coldMessages({ newest, asked, first }: ColdNotes): NotedMessage[] {
  const seqFirst = newest[0]?.seq ?? 0;
  const request = first.find(({ said }) => said.some(({ kind }) => kind === "request" || kind === "rule"));
  const older = [...(request === undefined ? [] : [request]), ...asked].filter(({ seq }) => seq < seqFirst);
  return [...new Map(older.map((message) => [message.seq, message])).values(), ...newest];
}

function noted(messages: readonly NotableMessage[]): NotedMessage[] {
  const reader = new NoteReader();
  return messages.map((message) => reader.of(message));
}
