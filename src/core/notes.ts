import type { ActionOutcome } from "./action.ts";

/** The texts of one message that a story may quote. Each is one line, in the words of the message. */
export interface Notes {
  /** The files that the message names, each once. A file has a higher weight if the message does more with it. */
  files: readonly { path: string; weight: number }[];
  /** The actions of the calls of the message: a program with its arguments, or the kind of action and its file, pattern or task. */
  did: readonly string[];
  /** The results of earlier calls. `line` reports the error of one that failed, or else a count. */
  results: readonly { did: string; outcome: ActionOutcome; line: string | undefined }[];
}

export interface NotedMessage extends Notes {
  messageId: number;
  seq: number;
}
