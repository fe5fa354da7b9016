import type { Message } from "../core/message.ts";
import type { OverlapView } from "./view.ts";

/** A message that a search has found. */
export interface Hit {
  messageId: number;
  /** Comparable with those of the other hits; higher is better. */
  score: number;
  /** The stretch of its text that answers the query. */
  snippet: () => string;
}

/** A step that may stand in the evidence block: it was found, or stands beside one that was. */
export interface RecalledStep {
  sessionId: string;
  messages: readonly Message[];
  /** By message id: of those that were found. */
  snippets: ReadonlyMap<number, () => string>;
  /** What all of it is worth beside the best hit, in (0, 1]. */
  worth: number;
  /** `cluster:12@345`; null while it has not graduated. */
  handle: string | null;
  /** Where a step of the rendered session that has left the window stands in its view. */
  cold: OverlapView | undefined;
}

/** A message as the evidence block shows it. */
export interface RecalledMessage {
  message: Message;
  how: "verbatim" | "shortened";
  cold: OverlapView | undefined;
}
