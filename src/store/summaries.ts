import { and, eq, isNotNull, isNull, sql } from "drizzle-orm";
import type { StoreDatabase } from "./open.ts";
import { summaries } from "./schema.ts";

/** Of the generation in use: what a summary of another one stands for is no tree of this one. */
const IS_CURRENT = sql`${summaries.logPosition} > (SELECT max(log_position) FROM generations)`;

export type SummaryRow = typeof summaries.$inferSelect;
export type NewSummary = Omit<typeof summaries.$inferInsert, "id" | "shownFrom" | "shownUntil">;

/** A row that says who is at work on a summary: `status` claimed. */
export interface Claim {
  id: number;
  rootId: number;
  /** At which the theme was read. */
  logPosition: number;
  claimant: string;
  claimedUntilMs: number;
}

/** What a failed or parked try says of the next one. */
export interface Try {
  status: "failed" | "parked";
  /** At which the theme was read; of a stretch, the place of its last message. */
  extent: number;
  /** Of those that failed since the last summary, the how-manyth. */
  attempts: number;
  claimant: string | null;
  createdAtMs: number;
  errorCode: string | null;
  nextTryAtMs: number | null;
}

/** A summary with its text: `status` done. */
export interface DoneSummary extends SummaryRow {
  title: string;
  text: string;
  tokenCount: number;
}

/** Rows of `summaries`. */
export class SummaryRepository {
  readonly #insert;
  readonly #show;
  readonly #hide;
  readonly #hideAll;
  readonly #carry;
  readonly #standingRootCount;
  readonly #shown;
  readonly #waiting;
  readonly #finished;
  readonly #delete;
  readonly #tries;
  readonly #newestTry;
  readonly #claims;
  readonly #deleteClaims;
  readonly #renew;
  readonly #endClaim;
  readonly #pausedUntil;

  constructor({ orm, client }: StoreDatabase) {
    this.#insert = (row: NewSummary) => orm.insert(summaries).values(row).run();
    this.#show = client.prepare<[number, number]>("UPDATE summaries SET shown_from = ? WHERE id = ?");
    this.#hide = client.prepare<[number, number]>("UPDATE summaries SET shown_until = ? WHERE id = ?");
    this.#deleteClaims = client.prepare("DELETE FROM summaries WHERE status = 'claimed'");
    this.#hideAll = client.prepare<[number]>(
      "UPDATE summaries SET shown_until = ? WHERE status = 'done' AND shown_until IS NULL",
    );
    this.#standingRootCount = client
      .prepare<[], number>(
        `SELECT count(DISTINCT root_id) FROM summaries
         WHERE status = 'done' AND shown_until IS NULL AND log_position > (SELECT max(log_position) FROM generations)`,
      )
      .pluck();
    this.#carry = client.prepare<{ id: number; rootId: number; position: number }>(
      `UPDATE summaries SET root_id = @rootId, log_position = @position, shown_from = coalesce(shown_from, @position),
         shown_until = NULL
       WHERE id = @id`,
    );
    const standing = and(
      eq(summaries.sessionId, sql.placeholder("sessionId")),
      sql`${summaries.status} = 'done' and ${summaries.shownUntil} is null`,
      IS_CURRENT,
    );
    this.#shown = orm
      .select()
      .from(summaries)
      .where(and(standing, isNotNull(summaries.shownFrom)))
      .orderBy(summaries.seqFirst, summaries.id)
      .prepare();
    this.#waiting = orm
      .select()
      .from(summaries)
      .where(and(standing, isNull(summaries.shownFrom)))
      .orderBy(summaries.id)
      .prepare();
    this.#finished = orm
      .select()
      .from(summaries)
      .where(and(eq(summaries.sessionId, sql.placeholder("sessionId")), sql`${summaries.status} = 'done'`))
      .orderBy(summaries.id)
      .prepare();
    this.#delete = client.prepare<[number]>("DELETE FROM summaries WHERE id = ?");
    this.#tries = client
      .prepare<[string], number>("SELECT id FROM summaries WHERE session_id = ? AND status IN ('failed', 'parked')")
      .pluck();
    this.#newestTry = client.prepare<{ rootId: number; summarizerId: string; promptVersion: number }, Try>(
      `SELECT status, log_position AS extent, attempts, claimant, created_at_ms AS createdAtMs,
              error_code AS errorCode, next_try_at_ms AS nextTryAtMs
       FROM summaries WHERE root_id = @rootId AND status IN ('failed', 'parked')
         AND summarizer_id = @summarizerId AND prompt_version = @promptVersion
         AND id > coalesce((SELECT max(id) FROM summaries
                            WHERE root_id = @rootId AND status = 'done' AND stands_in = 0), 0)
       ORDER BY id DESC LIMIT 1`,
    );
    this.#claims = client.prepare<[string], Claim>(
      `SELECT id, root_id AS rootId, log_position AS logPosition, claimant, claimed_until_ms AS claimedUntilMs
       FROM summaries WHERE session_id = ? AND status = 'claimed' ORDER BY id`,
    );
    this.#renew = client.prepare<[number, number, string]>(
      "UPDATE summaries SET claimed_until_ms = ? WHERE id = ? AND status = 'claimed' AND claimant = ?",
    );
    this.#endClaim = client.prepare<[number, string]>(
      "DELETE FROM summaries WHERE id = ? AND status = 'claimed' AND claimant = ?",
    );
    const pausing = (table: string): string =>
      `SELECT next_try_at_ms FROM ${table} WHERE pauses = 1 AND summarizer_id = @summarizerId
       AND next_try_at_ms > @nowMs AND created_at_ms <= @nowMs AND (status = 'failed' OR claimant = @claimant)`;
    this.#pausedUntil = client
      .prepare<{ summarizerId: string; claimant: string; nowMs: number }, number | null>(
        `SELECT max(next_try_at_ms) FROM (${pausing("summaries")} UNION ALL ${pausing("span_summaries")})`,
      )
      .pluck();
  }

  /** @returns its id. */
  add(row: NewSummary): number {
    return Number(this.#insert(row).lastInsertRowid);
  }

  /** Those that stand in the context, oldest sources first. */
  shown(sessionId: string): DoneSummary[] {
    return this.#shown.all({ sessionId }) as DoneSummary[];
  }

  /** Those that are ready and wait for the frontier to move, oldest first. */
  waiting(sessionId: string): DoneSummary[] {
    return this.#waiting.all({ sessionId }) as DoneSummary[];
  }

  markShown(id: number, position: number): void {
    this.#show.run(position, id);
  }

  markHidden(id: number, position: number): void {
    this.#hide.run(position, id);
  }

  /** Roots of all sessions that a standing summary is of. */
  standingRootCount(): number {
    return this.#standingRootCount.get()!;
  }

  /** Of all sessions, those that stand stand no more. */
  hideAll(position: number): void {
    this.#hideAll.run(position);
  }

  /** What it covers is a tree of the new generation, too: it stands for that from now on, in the context. */
  carry(id: number, rootId: number, position: number): void {
    this.#carry.run({ id, rootId, position });
  }

  /** Every finished one of a session, whether the context ever showed it or not. */
  finished(sessionId: string): DoneSummary[] {
    return this.#finished.all({ sessionId }) as DoneSummary[];
  }

  delete(id: number): void {
    this.#delete.run(id);
  }

  /** Ids of every failed and parked try of a session: its error may quote what was read. */
  tries(sessionId: string): number[] {
    return this.#tries.all(sessionId);
  }

  /** The newest try of a summarizer that came to nothing since the root's last summary. */
  newestTry(rootId: number, summarizerId: string, promptVersion: number): Try | undefined {
    return this.#newestTry.get({ rootId, summarizerId, promptVersion });
  }

  /** Live and expired ones of a session, oldest first. */
  claims(sessionId: string): Claim[] {
    return this.#claims.all(sessionId);
  }

  /** Those of all sessions: whoever made them finds that they are lost. */
  deleteClaims(): void {
    this.#deleteClaims.run();
  }

  /** @returns false if the claim has been lost. */
  renewClaim(id: number, claimant: string, untilMs: number): boolean {
    return this.#renew.run(untilMs, id, claimant).changes === 1;
  }

  /** @returns false if the claim had been lost. */
  endClaim(id: number, claimant: string): boolean {
    return this.#endClaim.run(id, claimant).changes === 1;
  }

  /**
   * Until when a summarizer is not to be asked for anything, because its service has said so to anyone, or has refused this
   * claimant's key or settings; undefined where it may be asked.
   */
  pausedUntil(summarizerId: string, claimant: string, nowMs: number): number | undefined {
    return this.#pausedUntil.get({ summarizerId, claimant, nowMs }) ?? undefined;
  }
}
