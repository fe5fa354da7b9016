import { byteLengthOf } from "../../core/files.ts";
import type { VectorStats } from "../derived/pending-vectors.ts";
import { IS_SESSION } from "../facts/paths.ts";
import type { Repositories } from "../repositories.ts";

type StoreCounts = Omit<
  StoreStats,
  keyof VectorStats | "path" | "unindexedCount" | "logPosition" | "fileBytes" | "walBytes" | "embedderId"
>;

/** Counts and sizes of a whole store. */
export interface StoreStats extends VectorStats {
  path: string;
  sessionCount: number;
  /** All messages, superseded ones included. */
  messageCount: number;
  /** Messages that `rewind`, `edit` or `undo` took off the path of their session. */
  supersededCount: number;
  /** The tokens of all messages, by the counter in use when each was appended. */
  tokenCount: number;
  clusterCount: number;
  themeCount: number;
  summaryCount: number;
  /** Summaries of the extractive summarizer that stand in for those of the store's own summarizer. */
  standInCount: number;
  /** The cost of all summaries, even failed and deleted ones. `summaryCostUsd` is null if no price is known. */
  summaryInputTokens: number;
  summaryOutputTokens: number;
  summaryCostUsd: number | null;
  artifactCount: number;
  /** The size of all artifacts before compression. */
  artifactBytes: number;
  /** Messages that are not in the full-text index. Searches read them one by one. */
  unindexedCount: number;
  /** The newest log position. */
  logPosition: number;
  /** Without the write-ahead log. 0 in memory. */
  fileBytes: number;
  walBytes: number;
  embedderId: string | null;
}

export function storeStats({ database, unions, generations, pendingVectors, fullText }: Repositories): StoreStats {
  const counts = database.client
    .prepare<[], StoreCounts>(
      `WITH paid AS (
         SELECT input_tokens, output_tokens, cost_usd FROM summaries
         UNION ALL SELECT input_tokens, output_tokens, cost_usd FROM discarded_costs)
       SELECT (SELECT count(*) FROM sessions WHERE ${IS_SESSION}) AS sessionCount,
              (SELECT count(*) FROM messages) AS messageCount,
              (SELECT count(*) FROM sessions s JOIN messages m ON m.session_id = s.id
               WHERE s.superseded_at_ms IS NOT NULL) AS supersededCount,
              (SELECT coalesce(sum(token_count), 0) FROM messages) AS tokenCount,
              (SELECT count(*) FROM clusters) AS clusterCount,
              (SELECT count(*) FROM themes) AS themeCount,
              (SELECT count(*) FROM summaries WHERE status = 'done') AS summaryCount,
              (SELECT count(*) FROM summaries WHERE stands_in = 1 AND shown_until IS NULL) AS standInCount,
              (SELECT coalesce(sum(input_tokens), 0) FROM paid) AS summaryInputTokens,
              (SELECT coalesce(sum(output_tokens), 0) FROM paid) AS summaryOutputTokens,
              (SELECT sum(cost_usd) FROM paid) AS summaryCostUsd,
              (SELECT count(*) FROM artifacts) AS artifactCount,
              (SELECT coalesce(sum(byte_length), 0) FROM artifacts) AS artifactBytes`,
    )
    .get()!;
  return {
    path: database.path,
    ...counts,
    ...pendingVectors.stats(),
    withoutVectorCount: pendingVectors.withoutVectorCount(),
    unindexedCount: fullText.tailCount(),
    logPosition: unions.newestPosition(),
    fileBytes: byteLengthOf(database.path),
    walBytes: byteLengthOf(`${database.path}-wal`),
    embedderId: generations.newest()?.embedderId ?? null,
  };
}
