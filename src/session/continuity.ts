import { buildContinuity, continuityShare } from "../context/continuity.ts";
import type { BlockCache, BlockedMessage } from "../context/digest/blocks.ts";
import type { ContinuityWriter } from "../context/result.ts";
import type { Message } from "../core/message.ts";
import type { NotedMessage } from "../core/notes.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { notesOf } from "../models/notes.ts";
import type { NotableMessage } from "../store/messages.ts";
import type { Repositories } from "../store/repositories.ts";

/** The most messages before the window whose notes are read. Reading one takes about 0.1 ms, and older messages matter little. */
const MESSAGES_MAX = 160;

/** The most messages before the window that a digest quotes. The worth of a line is halved every 120 messages. */
const BLOCKED_MAX = 800;

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
    messages.notableBefore(sessionId, range).map(noted);
  const isLater = before !== undefined && before.seqEnd <= seqEnd;
  const rows = messages.notableBefore(sessionId, {
    seqFrom: isLater ? before.seqEnd : 0,
    seqEnd,
    limit: BLOCKED_MAX,
  });
  const fresh = rows.slice(-MESSAGES_MAX).map(noted);
  const newest = isLater ? [...before.newest, ...fresh].slice(-MESSAGES_MAX) : fresh;
  const freshBlocks = rows.map((row) => blocks.of(row));
  const blocked = wholeSteps((isLater ? [...before.blocked, ...freshBlocks] : freshBlocks).slice(-BLOCKED_MAX));
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

/** Leaves out the rest of steps that begin earlier, because a result is judged by its call. */
function wholeSteps(messages: readonly BlockedMessage[]): BlockedMessage[] {
  const first = messages.findIndex(({ id, stepId }) => stepId === id);
  return first === -1 ? [] : messages.slice(first).filter(({ stepId }) => stepId >= messages[first]!.id);
}

export function continuityWriter(cold: ColdNotes, tokenCounter: TokenCounter, blocks: BlockCache): ContinuityWriter {
  const old = coldMessages(cold);
  return {
    share: continuityShare(old),
    write: (hidden, tokensMax, shownNames) => {
      const bySeq = new Map([...old, ...hidden.map(noted)].map((message) => [message.seq, message]));
      const notes = [...bySeq.values()].sort((left, right) => left.seq - right.seq);
      const blocked = [...cold.blocked, ...hidden.map((message) => blocks.of(message))];
      return buildContinuity(notes, blocked, shownNames, tokensMax, tokenCounter);
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

function noted(message: Message | NotableMessage): NotedMessage {
  const { id, seq, stepId } = message;
  return { messageId: id, seq, stepId, ...notesOf(message) };
}
