import { asc, eq, sql } from "drizzle-orm";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import type { StoreDatabase } from "./open.ts";
import { themes } from "./schema.ts";

/** Rows of `themes`. */
export class ThemeRepository {
  readonly #put;
  readonly #delete;
  readonly #deleteOf;
  readonly #deleteAll;
  readonly #ofSession;

  constructor({ orm, client }: StoreDatabase) {
    this.#put = client.prepare<[number, string, number, number, number, Float32Array, number, number, number, number]>(
      `INSERT INTO themes (root_id, session_id, cluster_count, message_count, token_count, centroid_sum, vector_count,
                           seq_first, seq_last, log_position)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (root_id) DO UPDATE SET
         cluster_count = excluded.cluster_count, message_count = excluded.message_count,
         token_count = excluded.token_count, centroid_sum = excluded.centroid_sum,
         vector_count = excluded.vector_count, seq_first = excluded.seq_first, seq_last = excluded.seq_last,
         log_position = excluded.log_position`,
    );
    this.#delete = client.prepare<[number]>("DELETE FROM themes WHERE root_id = ?");
    this.#deleteOf = client.prepare<[string]>("DELETE FROM themes WHERE session_id = ?");
    this.#deleteAll = client.prepare<[]>("DELETE FROM themes");
    this.#ofSession = orm
      .select()
      .from(themes)
      .where(eq(themes.sessionId, sql.placeholder("sessionId")))
      .orderBy(asc(themes.rootId))
      .prepare();
  }

  put(sessionId: string, { theme, logPosition }: GrowingTheme): void {
    this.#put.run(
      theme.root,
      sessionId,
      theme.clusterCount,
      theme.messageCount,
      theme.tokenCount,
      theme.sum,
      theme.vectorCount,
      theme.seqFirst,
      theme.seqLast,
      logPosition,
    );
  }

  delete(root: number): void {
    this.#delete.run(root);
  }

  deleteOf(sessionId: string): void {
    this.#deleteOf.run(sessionId);
  }

  /** Of all sessions. */
  deleteAll(): void {
    this.#deleteAll.run();
  }

  /** Oldest root first. */
  ofSession(sessionId: string): GrowingTheme[] {
    return this.#ofSession.all({ sessionId }).map((row) => ({
      theme: {
        root: row.rootId,
        sum: row.centroidSum,
        vectorCount: row.vectorCount,
        clusterCount: row.clusterCount,
        messageCount: row.messageCount,
        tokenCount: row.tokenCount,
        seqFirst: row.seqFirst,
        seqLast: row.seqLast,
      },
      logPosition: row.logPosition,
    }));
  }
}
