import { buildContinuity, continuityShare } from "../context/continuity.ts";
import type { Continuity, ContinuityWriter } from "../context/result.ts";
import type { Message } from "../core/message.ts";
import type { NotedMessage } from "../core/notes.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { notesOf } from "../models/notes.ts";
import type { NotableMessage } from "../store/messages.ts";
import type { Repositories } from "../store/repositories.ts";

/** The most messages before the window that are read. Reading one takes about 0.1 ms, and older messages matter little. */
const MESSAGES_MAX = 160;

/** The user messages of this many newest turns are read, however old they are, because a user's rule stays valid. */
const TURNS_MAX = 24;

/** The number of blocks to keep. A host usually renders with one or two budgets. */
const BLOCKS_KEPT = 8;

/** The session's first request is looked for in this many messages. */
const FIRST_MAX = 16;

export interface ColdNotes {
  /** The first seq of the window. */
  seqEnd: number;
  newest: NotedMessage[];
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
