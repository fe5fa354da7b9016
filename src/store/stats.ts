import { byteLengthOf } from "../core/files.ts";
import type { VectorStats } from "./pending-vectors.ts";
import type { Repositories } from "./repositories.ts";

type StoreCounts = Omit<
  StoreStats,
  keyof VectorStats | "path" | "unindexedCount" | "logPosition" | "fileBytes" | "walBytes" | "embedderId"
>;

/** Counts and sizes of a whole store. */
export interface StoreStats extends VectorStats {
  path: string;
  sessionCount: number;
  messageCount: number;
  /** Of all messages, by the counter that was in use when each was appended. */
  tokenCount: number;
  clusterCount: number;
  themeCount: number;
  summaryCount: number;
  /** Of these, made by the extractive summarizer, and standing for as long as the store's own has made none. */
  standInCount: number;
  /** What summaries have cost, as far as their service reports it, also those that failed or are not kept. US dollars; null where
   *  no price is known. */
  summaryInputTokens: number;
  summaryOutputTokens: number;
  summaryCostUsd: number | null;
  artifactCount: number;
  /** Of all artifacts, uncompressed. */
  artifactBytes: number;
  /** Messages that are not in the full-text index yet: searches look through them. */
  unindexedCount: number;
  /** Position of the last row of the log. */
  logPosition: number;
  /** Size of the database file, without its write-ahead log. 0 in memory. */
  fileBytes: number;
  walBytes: number;
  embedderId: string | null;
}

export function storeStats({ database, unions, generations, pendingVectors, fullText }: Repositories): StoreStats {
  const counts = database.client
    .prepare<[], StoreCounts>(
      `WITH paid AS (
         SELECT input_tokens, output_tokens, cost_usd FROM summaries
         UNION ALL SELECT input_tokens, output_tokens, cost_usd FROM span_summaries
         UNION ALL SELECT input_tokens, output_tokens, cost_usd FROM discarded_costs)
       SELECT (SELECT count(*) FROM sessions) AS sessionCount,
              (SELECT count(*) FROM messages) AS messageCount,
              (SELECT coalesce(sum(token_count), 0) FROM messages) AS tokenCount,
              (SELECT count(*) FROM clusters) AS clusterCount,
              (SELECT count(*) FROM themes) AS themeCount,
              (SELECT count(*) FROM summaries WHERE status = 'done')
                + (SELECT count(*) FROM span_summaries WHERE status = 'done') AS summaryCount,
              (SELECT count(*) FROM summaries WHERE stands_in = 1 AND shown_until IS NULL
                   AND log_position > (SELECT max(log_position) FROM generations))
                + (SELECT count(*) FROM span_summaries WHERE stands_in = 1) AS standInCount,
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
    unindexedCount: fullText.tailCount(),
    logPosition: unions.newestPosition(),
    fileBytes: byteLengthOf(database.path),
    walBytes: byteLengthOf(`${database.path}-wal`),
    embedderId: generations.newest()?.embedderId ?? null,
  };
}
