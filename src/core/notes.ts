import type { ActionOutcome } from "./action.ts";
import type { JsonValue } from "./json.ts";

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

/**
 * After an agent compacted its context, it went on with a summary. Every importer notes this in the metadata of the summary, in each
 * of its messages.
 */
export interface CompactionNote {
  isCompactSummary: true;
  /** The id, in the transcript, of the first message that the agent kept beside the summary. Without it, the agent kept none. */
  keptFrom?: string;
}

/** Returns what an importer noted of a compaction; undefined for a message that is no summary. */
export function compactionNote(metadata: Record<string, JsonValue> | null | undefined): CompactionNote | undefined {
  return metadata?.isCompactSummary === true ? (metadata as unknown as CompactionNote) : undefined;
}
