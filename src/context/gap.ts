import { element } from "../core/markup.ts";
import type { Message } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { Memory } from "./memory.ts";
import type { PreparedView } from "./prepare.ts";

/** The messages that one pointer line names: the hidden ones of the window, and all cold ones if there is no memory block. */
export interface Gap {
  seqFirst: number;
  seqLast: number;
  /** Pinned messages, and shown results of a step that began in the gap, do not count. */
  messageCount: number;
}

/** @param hidden  The hidden messages of the window, by step. @param memory  The memory block that is shown. */
export function gapOf(view: PreparedView, hidden: readonly Message[], memory: Memory): Gap | undefined {
  const coldCount = memory.text === undefined ? view.coldCount : 0;
  if (coldCount + hidden.length === 0) return undefined;
  return {
    seqFirst: coldCount > 0 ? 0 : hidden[0]!.seq,
    // Steps may interleave, so the last message of the last step need not be the newest.
    seqLast: hidden.length > 0 ? Math.max(...hidden.map(({ seq }) => seq)) : view.evictedSeq - 1,
    messageCount: coldCount + hidden.length,
  };
}

export function gapElement({ seqFirst, seqLast, messageCount }: Gap): string {
  const attributes = { seq: `${seqFirst}-${seqLast}`, messages: messageCount };
  return element("pointer", attributes, "Left out for lack of room; session.messages reads them by seq.");
}

/** Returns the most tokens that a pointer line costs. A fixed number keeps one more digit from moving the start of the window. */
export function gapTokensMax(tokenCounter: TokenCounter): number {
  const large = 9_999_999; // a session of ten million messages
  return tokenCounter.count(gapElement({ seqFirst: large, seqLast: large, messageCount: large }));
}
