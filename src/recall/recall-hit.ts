import type { Role } from "../core/message.ts";
import type { ScoreParts } from "./ranking.ts";

/** A message that answers a query, and where it was said. */
export interface RecallHit {
  messageId: number;
  sessionId: string;
  seq: number;
  role: Role;
  name?: string;
  createdAtMs: number;
  /** The text of the message as it is embedded and searched. `expand` and `messages` return the original. */
  text: string;
  /** Comparable only with the scores of the same call; higher is better. */
  score: number;
  /** The part of the text that has most of the query's words, which are marked with `**`. */
  snippet: string;
  /** The handle of its cluster, for `expand`; null while the message is only in the hot window. */
  root: string | null;
  /** The messages before and after it, in order. */
  neighbors: RecallNeighbor[];
  /** Messages that say the same nearly word for word and rank below it. */
  copies: { messageId: number; sessionId: string; seq: number }[];
  /** The parts of the score, with `explain`. */
  parts?: ScoreParts;
}

export interface RecallNeighbor {
  messageId: number;
  seq: number;
  role: Role;
  name?: string;
  /** Like `RecallHit.snippet`: a few lines at most. */
  snippet: string;
}
