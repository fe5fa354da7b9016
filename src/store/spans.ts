import { createHash } from "node:crypto";
import { and, desc, eq, sql } from "drizzle-orm";
import type { StoreDatabase } from "./open.ts";
import { spanSummaries } from "./schema.ts";

export type SpanRow = typeof spanSummaries.$inferSelect;
export type NewSpan = typeof spanSummaries.$inferInsert;
export type SpanStrategy = SpanRow["strategy"];

/** A stretch with its text: `status` done. */
export interface DoneSpan extends SpanRow {
  title: string;
  text: string;
  tokenCount: number;
}

/** The messages of a stretch that are not pinned, as far as rows of `span_summaries` tell of them. */
export interface SpanContent {
  firstId: number;
  lastId: number;
  messageCount: number;
  tokenCount: number;
  sourceDigest: string;
}

/**
 * Finished rows of a strategy that are kept: the newest counts, and where a message of it is forgotten an older one may not
 * cover that. Handles name messages, not rows, so those of rows that are gone still expand.
 */
const DONE_KEPT = 3;

/** Rows of `span_summaries`. */
export class SpanRepository {
  readonly #insert;
  readonly #newest;
  readonly #done;
  readonly #delete;
  readonly #deleteSuperseded;
  readonly #deleteCovering;
  readonly #content;
  readonly #failedAttempts;
  readonly #ids;
  readonly #bounds;

  constructor({ orm, client }: StoreDatabase) {
    this.#insert = (row: NewSpan) => orm.insert(spanSummaries).values(row).run();
    const inSession = eq(spanSummaries.sessionId, sql.placeholder("sessionId"));
    this.#newest = orm
      .select()
      .from(spanSummaries)
      .where(
        and(
          inSession,
          eq(spanSummaries.strategy, sql.placeholder("strategy")),
          eq(spanSummaries.status, sql.placeholder("status")),
        ),
      )
      .orderBy(desc(spanSummaries.id))
      .limit(1)
      .prepare();
    this.#done = orm
      .select()
      .from(spanSummaries)
      .where(and(inSession, eq(spanSummaries.status, "done")))
      .orderBy(spanSummaries.id)
      .prepare();
    this.#delete = client.prepare<[number]>("DELETE FROM span_summaries WHERE id = ?");
    this.#deleteSuperseded = client.prepare<{ sessionId: string; strategy: string; seqLast: number }>(
      `DELETE FROM span_summaries WHERE session_id = @sessionId AND strategy = @strategy AND (
         (status <> 'done' AND seq_last <= @seqLast)
         OR (status = 'done' AND id NOT IN (
           SELECT id FROM span_summaries WHERE session_id = @sessionId AND strategy = @strategy AND status = 'done'
           ORDER BY id DESC LIMIT ${DONE_KEPT})))`,
    );
    this.#deleteCovering = client
      .prepare<{ sessionId: string; ids: string }, string>(
        `DELETE FROM span_summaries WHERE session_id = @sessionId AND (status <> 'done' OR EXISTS (
           SELECT 1 FROM messages m WHERE m.id IN (SELECT value FROM json_each(@ids))
             AND m.pinned = 0 AND m.seq BETWEEN seq_first AND seq_last))
         RETURNING status`,
      )
      .pluck();
    this.#failedAttempts = client
      .prepare<{ sessionId: string; strategy: string }, number>(
        `WITH own AS (SELECT id, status FROM span_summaries WHERE session_id = @sessionId AND strategy = @strategy)
         SELECT count(*) FROM own
         WHERE status = 'failed' AND id > coalesce((SELECT max(id) FROM own WHERE status = 'done'), 0)`,
      )
      .pluck();
    this.#content = client.prepare<[string, number, number], { id: number; tokenCount: number; digest: Buffer }>(
      `SELECT id, token_count AS tokenCount, digest FROM messages
       WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0 ORDER BY seq`,
    );
    // Ids rise with places. One that is missing was forgotten if ids have come so far: they are never used again.
    this.#ids = client
      .prepare<{ firstId: number; lastId: number }, number>(
        `SELECT m.id FROM messages m
         WHERE m.id BETWEEN @firstId AND @lastId AND m.pinned = 0
           AND @lastId <= (SELECT seq FROM sqlite_sequence WHERE name = 'messages')
           AND m.session_id = (
             SELECT min(session_id) FROM messages WHERE id IN (@firstId, @lastId) HAVING count(DISTINCT session_id) = 1)
         ORDER BY m.seq`,
      )
      .pluck();
    this.#bounds = client.prepare<
      [string, number, number],
      { firstId: number | null; lastId: number; messageCount: number; tokenCount: number }
    >(
      `SELECT min(id) AS firstId, max(id) AS lastId, count(*) AS messageCount, sum(token_count) AS tokenCount
       FROM messages WHERE session_id = ? AND seq BETWEEN ? AND ? AND pinned = 0`,
    );
  }

  add(row: NewSpan): void {
    this.#insert(row);
  }

  delete(id: number): void {
    this.#delete.run(id);
  }

  /** What a finished one makes useless: tries and wishes for what it covers, and all finished ones but the newest few. */
  deleteSuperseded(sessionId: string, strategy: SpanStrategy, seqLast: number): void {
    this.#deleteSuperseded.run({ sessionId, strategy, seqLast });
  }

  /** The newest of a status, whatever came after it. */
  newest(sessionId: string, strategy: SpanStrategy, status: "done"): DoneSpan | undefined;
  newest(sessionId: string, strategy: SpanStrategy, status: SpanRow["status"]): SpanRow | undefined;
  newest(sessionId: string, strategy: SpanStrategy, status: SpanRow["status"]): SpanRow | undefined {
    return this.#newest.get({ sessionId, strategy, status });
  }

  /** Every finished one of a session, oldest first. */
  done(sessionId: string): DoneSpan[] {
    return this.#done.all({ sessionId }) as DoneSpan[];
  }

  /** Tries that failed since the last that did not. */
  failedAttempts(sessionId: string, strategy: SpanStrategy): number {
    return this.#failedAttempts.get({ sessionId, strategy })!;
  }

  /**
   * Those that cover a message that is about to be forgotten, and every try of the session, whose error may quote one.
   *
   * @returns how many of them were finished.
   */
  deleteCovering(sessionId: string, ids: readonly number[]): number {
    return this.#deleteCovering.all({ sessionId, ids: JSON.stringify(ids) }).filter((status) => status === "done")
      .length;
  }

  /** Both ends included. The ids are 0 where the stretch holds nothing that is not pinned. */
  contentOf(sessionId: string, seqFirst: number, seqLast: number): SpanContent {
    const digest = createHash("sha256");
    const rows = this.#content.all(sessionId, seqFirst, seqLast);
    for (const row of rows) digest.update(row.digest);
    return {
      firstId: rows[0]?.id ?? 0,
      lastId: rows.at(-1)?.id ?? 0,
      messageCount: rows.length,
      tokenCount: rows.reduce((sum, { tokenCount }) => sum + tokenCount, 0),
      sourceDigest: digest.digest("hex"),
    };
  }

  /** The same without looking at each message; undefined where the stretch holds nothing that is not pinned. */
  boundsOf(sessionId: string, seqFirst: number, seqLast: number): Omit<SpanContent, "sourceDigest"> | undefined {
    const { firstId, ...bounds } = this.#bounds.get(sessionId, seqFirst, seqLast)!;
    return firstId === null ? undefined : { firstId, ...bounds };
  }

  /**
   * Messages from one to another of the same session that are not pinned, in order; none if the two are not of one. One
   * of the two may have been forgotten, for the other tells the session.
   */
  idsBetween(firstId: number, lastId: number): number[] {
    return this.#ids.all({ firstId, lastId });
  }

  /** Ids of finished ones whose messages are not, or no more, those that were summarized. */
  wrong(sessionId: string): number[] {
    return this.done(sessionId)
      .filter((row) => {
        const content = this.contentOf(sessionId, row.seqFirst, row.seqLast);
        return (["firstId", "lastId", "messageCount", "sourceDigest"] as const).some(
          (key) => content[key] !== row[key],
        );
      })
      .map(({ id }) => id);
  }
}
