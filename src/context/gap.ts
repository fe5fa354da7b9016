import { element } from "../core/markup.ts";
import type { Message } from "../core/message.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { coldMessageCount } from "./cold.ts";
import type { Memory } from "./memory.ts";
import type { RenderView } from "./view.ts";

/**
 * Messages between the pinned ones and the window that are only named: hidden steps, and all that is cold when the
 * memory block has no room.
 */
export interface Gap {
  seqFirst: number;
  seqLast: number;
  /** Pinned messages between the two, and results shown although their step began between them, are not among them. */
  messageCount: number;
}

/** @param hidden  Messages of the window that are not shown, by step. @param memory  The memory block that is. */
export function gapOf(view: RenderView, hidden: readonly Message[], memory: Memory): Gap | undefined {
  const coldCount = memory.text === undefined ? coldMessageCount(view) : 0;
  if (coldCount + hidden.length === 0) return undefined;
  return {
    seqFirst: coldCount > 0 ? 0 : hidden[0]!.seq,
    // Steps interleave where a result of another step came in between: the last message of the last need not be the last.
    seqLast: hidden.length > 0 ? Math.max(...hidden.map(({ seq }) => seq)) : view.evictedSeq - 1,
    messageCount: coldCount + hidden.length,
  };
}

export function gapElement({ seqFirst, seqLast, messageCount }: Gap): string {
  const attributes = { seq: `${seqFirst}-${seqLast}`, messages: messageCount };
  return element("pointer", attributes, "Left out for lack of room; session.messages reads them by seq.");
}

/** What a gap may cost at most: fixed, so that a number with one more digit does not move the start of the window. */
export function gapTokensMax(tokenCounter: TokenCounter): number {
  const large = 9_999_999; // a session of ten million messages
  return tokenCounter.count(gapElement({ seqFirst: large, seqLast: large, messageCount: large }));
}
