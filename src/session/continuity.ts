import { buildContinuity, continuityShare } from "../context/continuity.ts";
import type { Continuity, ContinuityTeller } from "../context/result.ts";
import type { Message } from "../core/message.ts";
import type { NotedMessage } from "../core/notes.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { notesOf } from "../models/notes.ts";
import type { NotableMessage } from "../store/messages.ts";
import type { Repositories } from "../store/repositories.ts";

/** Messages before the window that are read, at about 0.1 ms each when a session is resumed: what older ones name decides little. */
const MESSAGES_MAX = 160;

/** Turns whose user messages are read however long ago they were. What a user rules out holds until it is taken back. */
const TURNS_MAX = 24;

/** Blocks kept between two moves of the frontier: of the budgets in use, while the window's start stays. */
const BLOCKS_KEPT = 8;

/** Places from a session's beginning in which its first request is looked for. */
const FIRST_MAX = 16;

/** What has left the window, noted: the newest messages, the users' of the newest turns, and the session's beginning. */
export interface ColdNotes {
  /** seq of the first message that has not left the window. */
  seqEnd: number;
  newest: NotedMessage[];
  /** The users' messages of the newest turns; those before the newest messages are told too. */
  asked: NotedMessage[];
  /** The first messages of the session. */
  first: NotedMessage[];
}

/**
 * Read what continuity needs of what has left the window. The work is bounded, whatever the length of the session.
 *
 * @param before  The same at an earlier frontier, nothing of it forgotten since: then only what is new is read.
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

/** Tells of a session between two moves of its frontier, each thing once. */
export function continuityTeller(cold: ColdNotes, tokenCounter: TokenCounter): ContinuityTeller {
  const told = new Map<string, Continuity | undefined>();
  const old = coldMessages(cold);
  return {
    share: continuityShare(old),
    tell: (hidden, tokensMax) => {
      const key = `${tokensMax} ${hidden.map(({ id }) => id).join()}`;
      if (!told.has(key)) {
        if (told.size === BLOCKS_KEPT) told.clear();
        const notes = [...old, ...hidden.map(noted)].sort((left, right) => left.seq - right.seq);
        told.set(key, buildContinuity(notes, tokensMax, tokenCounter));
      }
      return told.get(key);
    },
  };
}

/** Each once. Of the oldest, only what a user said. */
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
