import { buildContinuity, continuityShare } from "../context/continuity.ts";
import type { Continuity, ContinuityWriter } from "../context/result.ts";
import type { Message } from "../core/message.ts";
import type { NotedMessage } from "../core/notes.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { notesOf } from "../models/notes.ts";
import type { NotableMessage } from "../store/messages.ts";
import type { Repositories } from "../store/repositories.ts";

/** The most messages before the window that are read. Each takes about 0.1 ms when a session is resumed. Older ones matter little. */
const MESSAGES_MAX = 160;

/** The newest turns whose user messages are read, however old they are, because a user's rule stays valid. */
const TURNS_MAX = 24;

/** The blocks kept between two moves of the frontier. A host renders with one or two budgets. */
const BLOCKS_KEPT = 8;

/** The first messages of a session that are searched for its first request. */
const FIRST_MAX = 16;

/** The notes of messages that have left the window. */
export interface ColdNotes {
  /** The seq of the first message that has not left the window. */
  seqEnd: number;
  newest: NotedMessage[];
  /** The users' messages of the newest turns, in order. */
  asked: NotedMessage[];
  /** The first messages of the session. */
  first: NotedMessage[];
}

/**
 * Reads the notes for continuity. The time does not depend on the length of the session.
 *
 * @param before  The notes at an earlier frontier, if none of their messages has been forgotten. Only newer messages are read.
 */
export function loadColdNotes(
  { messages }: Repositories,
  sessionId: string,
  seqEnd: number,
  before: ColdNotes | undefined,
): ColdNotes {
  const read = (range: { seqFrom: number; seqEnd: number; limit: number }) =>
    messages.notableBefore(sessionId, range).map(noted);
  const isLater = before !== undefined && before.seqEnd <= seqEnd;
  const fresh = read({ seqFrom: isLater ? before.seqEnd : 0, seqEnd, limit: MESSAGES_MAX });
  const newest = isLater ? [...before.newest, ...fresh].slice(-MESSAGES_MAX) : fresh;
  const known = new Map([...(before?.asked ?? []), ...newest].map((message) => [message.seq, message]));
  const asked = messages.turnsBefore(sessionId, seqEnd, TURNS_MAX).flatMap((seq) => {
    const message = known.get(seq);
    return message !== undefined ? [message] : read({ seqFrom: seq, seqEnd: seq + 1, limit: 1 });
  });
  const isComplete = isLater && before.seqEnd >= FIRST_MAX;
  const first = isComplete ? before.first : read({ seqFrom: 0, seqEnd: Math.min(FIRST_MAX, seqEnd), limit: FIRST_MAX });
  return { seqEnd, newest, asked: asked.reverse(), first };
}

/** Returns the writer of a session's continuity block. It keeps its blocks until the frontier moves. */
export function continuityWriter(cold: ColdNotes, tokenCounter: TokenCounter): ContinuityWriter {
  const blocks = new Map<string, Continuity | undefined>();
  const old = coldMessages(cold);
  return {
    share: continuityShare(old),
    write: (hidden, tokensMax) => {
      const key = `${tokensMax} ${hidden.map(({ id }) => id).join()}`;
      if (!blocks.has(key)) {
        if (blocks.size === BLOCKS_KEPT) blocks.clear();
        const notes = [...old, ...hidden.map(noted)].sort((left, right) => left.seq - right.seq);
        blocks.set(key, buildContinuity(notes, tokensMax, tokenCounter));
      }
      return blocks.get(key);
    },
  };
}

/** Returns the notes in use, each message once: the first request, the users' messages of the newest turns, and the newest messages. */
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
