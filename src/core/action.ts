export type ActionKind = "read" | "edit" | "write" | "run" | "search" | "fetch" | "task";
export type ActionOutcome = "ok" | "failed" | "unknown";

/** The version of the rules by which `models/actions.ts` reads actions. A store reads its messages again by new rules. */
export const ACTION_RULES = 3;

/** A piece of work that a tool call did. */
export interface Action {
  kind: ActionKind;
  /** The name of the file, the program or the tool. */
  name: string;
  /** The path as it was called, the program with its arguments, the pattern, the address, or the beginning of the task. */
  target: string;
  /** `unknown` if there is no result, if the user refused the call, or if a later program of the line failed. */
  outcome: ActionOutcome;
  /** The part of the error that is the same each time it occurs; null if the call did not fail, or if its error says too little. */
  error: string | null;
}

export interface StepAction extends Action {
  /** The message with the call, and its part. */
  messageId: number;
  part: number;
  /** Counts the actions of the message from 0. */
  ordinal: number;
  /** The message with the result; null if there is none. */
  resultId: number | null;
}

export interface PlacedAction extends StepAction {
  sessionId: string;
  seq: number;
  createdAtMs: number;
  project: string | null;
}

/** An error that occurred in several sessions. Copies of a message count once. */
export interface RecurringError {
  error: string;
  sessionCount: number;
  count: number;
  lastAtMs: number;
}
