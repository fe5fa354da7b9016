import { createHash } from "node:crypto";
import { and, desc, eq, sql } from "drizzle-orm";
import type { StoreDatabase } from "./open.ts";
import { spanSummaries } from "./schema.ts";
import type { Claim, Try } from "./summaries.ts";

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
  readonly #shown;
  readonly #done;
  readonly #delete;
  readonly #superseded;
  readonly #standIns;
  readonly #covering;
  readonly #newestTry;
  readonly #givenUp;
  readonly #claim;
  readonly #renew;
  readonly #endClaim;
  readonly #content;
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
          eq(spanSummaries.standsIn, false),
        ),
      )
      .orderBy(desc(spanSummaries.id))
      .limit(1)
      .prepare();
    this.#shown = orm
      .select()
      .from(spanSummaries)
      .where(and(inSession, eq(spanSummaries.strategy, sql.placeholder("strategy")), eq(spanSummaries.status, "done")))
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
    this.#superseded = client
      .prepare<{ sessionId: string; strategy: string; seqLast: number }, number>(
        `SELECT id FROM span_summaries WHERE session_id = @sessionId AND strategy = @strategy AND (
           (status <> 'done' AND seq_last <= @seqLast) OR stands_in = 1
           OR (status = 'done' AND id NOT IN (
             SELECT id FROM span_summaries
             WHERE session_id = @sessionId AND strategy = @strategy AND status = 'done' AND stands_in = 0
             ORDER BY id DESC LIMIT ${DONE_KEPT})))`,
      )
      .pluck();
    this.#standIns = client
      .prepare<[string, string], number>(
        "SELECT id FROM span_summaries WHERE session_id = ? AND strategy = ? AND stands_in = 1",
      )
      .pluck();
    this.#covering = client.prepare<{ sessionId: string; ids: string }, { id: number; status: SpanRow["status"] }>(
      `SELECT id, status FROM span_summaries WHERE session_id = @sessionId AND (status NOT IN ('done', 'claimed') OR EXISTS (
         SELECT 1 FROM messages m WHERE m.id IN (SELECT value FROM json_each(@ids))
           AND m.pinned = 0 AND m.seq BETWEEN seq_first AND seq_last))`,
    );
    this.#newestTry = client.prepare<
      { sessionId: string; strategy: string; summarizerId: string; promptVersion: number },
      Try
    >(
      `SELECT status, seq_last AS extent, attempts, claimant, created_at_ms AS createdAtMs,
              error_code AS errorCode, next_try_at_ms AS nextTryAtMs
       FROM span_summaries WHERE session_id = @sessionId AND strategy = @strategy AND status IN ('failed', 'parked')
         AND summarizer_id = @summarizerId AND prompt_version = @promptVersion
         AND id > coalesce((SELECT max(id) FROM span_summaries WHERE session_id = @sessionId
                            AND strategy = @strategy AND status = 'done' AND stands_in = 0), 0)
       ORDER BY id DESC LIMIT 1`,
    );
    this.#givenUp = client.prepare<
      { sessionId: string; strategy: string; summarizerId: string; promptVersion: number },
      { seqLast: number }
    >(
      `SELECT seq_last AS seqLast FROM span_summaries
       WHERE session_id = @sessionId AND strategy = @strategy AND status = 'parked' AND next_try_at_ms IS NULL
         AND summarizer_id = @summarizerId AND prompt_version = @promptVersion ORDER BY id DESC LIMIT 1`,
    );
    this.#claim = client.prepare<[string, string], Omit<Claim, "rootId" | "logPosition">>(
      `SELECT id, claimant, claimed_until_ms AS claimedUntilMs
       FROM span_summaries WHERE session_id = ? AND strategy = ? AND status = 'claimed'`,
    );
    this.#renew = client.prepare<[number, number, string]>(
      "UPDATE span_summaries SET claimed_until_ms = ? WHERE id = ? AND status = 'claimed' AND claimant = ?",
    );
    this.#endClaim = client.prepare<[number, string]>(
      "DELETE FROM span_summaries WHERE id = ? AND status = 'claimed' AND claimant = ?",
    );
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

  /** @returns its id. */
  add(row: NewSpan): number {
    return Number(this.#insert(row).lastInsertRowid);
  }

  delete(id: number): void {
    this.#delete.run(id);
  }

  /**
   * Ids of what a finished one makes useless: tries and wishes for what it covers, what stood in for it, and all finished ones
   * but the newest few.
   */
  superseded(sessionId: string, strategy: SpanStrategy, seqLast: number): number[] {
    return this.#superseded.all({ sessionId, strategy, seqLast });
  }

  /** Ids of what stands in for a summary. */
  standIns(sessionId: string, strategy: SpanStrategy): number[] {
    return this.#standIns.all(sessionId, strategy);
  }

  /** The newest that a summarizer has given up until there is more to summarize. */
  givenUp(
    sessionId: string,
    strategy: SpanStrategy,
    { id: summarizerId, promptVersion }: { id: string; promptVersion: number },
  ): { seqLast: number } | undefined {
    return this.#givenUp.get({ sessionId, strategy, summarizerId, promptVersion });
  }

  /** What the context shows: the newest that is finished, whoever made it. */
  shown(sessionId: string, strategy: SpanStrategy): DoneSpan | undefined {
    return this.#shown.get({ sessionId, strategy }) as DoneSpan | undefined;
  }

  /** The newest of a status, whatever came after it; none that only stands in for another. */
  newest(sessionId: string, strategy: SpanStrategy, status: "done"): DoneSpan | undefined;
  newest(sessionId: string, strategy: SpanStrategy, status: SpanRow["status"]): SpanRow | undefined;
  newest(sessionId: string, strategy: SpanStrategy, status: SpanRow["status"]): SpanRow | undefined {
    return this.#newest.get({ sessionId, strategy, status });
  }

  /** Every finished one of a session, oldest first. */
  done(sessionId: string): DoneSpan[] {
    return this.#done.all({ sessionId }) as DoneSpan[];
  }

  /** The newest try of a summarizer that came to nothing since the last summary. */
  newestTry(sessionId: string, strategy: SpanStrategy, summarizerId: string, promptVersion: number): Try | undefined {
    return this.#newestTry.get({ sessionId, strategy, summarizerId, promptVersion });
  }

  /** Live or expired. */
  claim(sessionId: string, strategy: SpanStrategy): Omit<Claim, "rootId" | "logPosition"> | undefined {
    return this.#claim.get(sessionId, strategy);
  }

  /** @returns false if the claim has been lost. */
  renewClaim(id: number, claimant: string, untilMs: number): boolean {
    return this.#renew.run(untilMs, id, claimant).changes === 1;
  }

  /** @returns false if the claim had been lost. */
  endClaim(id: number, claimant: string): boolean {
    return this.#endClaim.run(id, claimant).changes === 1;
  }

  /** Those that cover a message, done or claimed, and every other row of the session: its error may quote one. */
  covering(sessionId: string, ids: readonly number[]): { id: number; status: SpanRow["status"] }[] {
    return this.#covering.all({ sessionId, ids: JSON.stringify(ids) });
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
