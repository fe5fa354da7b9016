import type { JsonValue } from "./json.ts";

/** Every importer notes this in the metadata of each message of the summary with which an agent went on after compacting its context. */
export interface CompactionNote {
  isCompactSummary: true;
  /** The id, in the transcript, of the first message that the agent kept beside the summary. Without it, the agent kept none. */
  keptFrom?: string;
}

/** Returns what an importer noted of a compaction; undefined for a message that is no summary. */
export function compactionNote(metadata: Record<string, JsonValue> | null | undefined): CompactionNote | undefined {
  return metadata?.isCompactSummary === true ? (metadata as unknown as CompactionNote) : undefined;
}
