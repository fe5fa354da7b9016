import type { Message } from "../core/message.ts";
import type { ThemePlace } from "./view.ts";

/** A message that a search has found. */
export interface EvidenceHit {
  messageId: number;
  /** Comparable with the scores of the other hits; higher is better. */
  score: number;
  /** Makes the part of the message's text that answers the query. */
  snippet: () => string;
}

/** A step that the evidence block may show: one that was found, or the neighbor of one. */
export interface EvidenceStep {
  sessionId: string;
  messages: readonly Message[];
  /** Makes the snippets of the messages that were found, by message id. */
  snippets: ReadonlyMap<number, () => string>;
  /** The worth of the whole step relative to the best hit, in (0, 1]. */
  worth: number;
  /** `cluster:12@345`; null while the step has not graduated. */
  handle: string | null;
  /** The place in the view of a step of the rendered session that has left the window. */
  cold: ThemePlace | undefined;
}

/** A message that the evidence block shows. */
export interface EvidenceMessage {
  message: Message;
  how: "verbatim" | "shortened";
  cold: ThemePlace | undefined;
}
