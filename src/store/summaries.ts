import { and, eq, inArray, isNull, max, sql } from "drizzle-orm";
import { type Claim, ClaimableRows, type Try } from "./claims.ts";
import type { StoreDatabase } from "./open.ts";
import { spanSummaries, summaries } from "./schema.ts";
import { columns, type RowOf } from "./statement.ts";

const SUMMARY = columns(summaries);

export type SummaryRow = RowOf<typeof SUMMARY>;
export type NewSummary = Omit<typeof summaries.$inferInsert, "id" | "shownFrom" | "shownUntil">;

/** A summary with its text: `status` done. */
export interface DoneSummary extends SummaryRow {
  title: string;
  text: string;
  tokenCount: number;
}

/** A summary of another generation stands for a tree that is not in this forest. */
const IS_STANDING = `status = 'done' AND shown_until IS NULL AND log_position > (SELECT max(log_position) FROM generations)`;

const statements = ({ statement }: StoreDatabase) => ({
  // Moves of the frontier and renders run these.
  shown: statement<[sessionId: string], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND ${IS_STANDING} AND shown_from IS NOT NULL
    ORDER BY seq_first, id`,
  waiting: statement<[sessionId: string], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND ${IS_STANDING} AND shown_from IS NULL ORDER BY id`,
  show: statement<[position: number, id: number]>`UPDATE summaries SET shown_from = ? WHERE id = ?`,
  hide: statement<[position: number, id: number]>`UPDATE summaries SET shown_until = ? WHERE id = ?`,
});

/** Rows of `summaries`. */
export class SummaryRepository extends ClaimableRows<typeof summaries> {
  readonly #statements;

  constructor(database: StoreDatabase) {
    super(database, summaries);
    this.#statements = statements(database);
  }

  /** The summaries that the context shows, those of the oldest messages first. */
  shown(sessionId: string): DoneSummary[] {
    return this.#statements.shown.all(sessionId);
  }

  /** The finished summaries that the next move of the frontier may show, oldest first. */
  waiting(sessionId: string): DoneSummary[] {
    return this.#statements.waiting.all(sessionId);
  }

  markShown(id: number, position: number): void {
    this.#statements.show.run(position, id);
  }

  markHidden(id: number, position: number): void {
    this.#statements.hide.run(position, id);
  }

  /** The number of roots, in all sessions, that have a summary which is shown or waits. */
  standingRootCount(): number {
    const count = sql<number>`count(distinct ${summaries.rootId})`;
    return this.orm.select({ count }).from(summaries).where(sql.raw(IS_STANDING)).get()!.count;
  }

  /** Hides every summary that is shown or waits, in all sessions. */
  hideAll(position: number): void {
    const isStanding = and(eq(summaries.status, "done"), isNull(summaries.shownUntil));
    this.orm.update(summaries).set({ shownUntil: position }).where(isStanding).run();
  }

  /** Gives a summary to a tree of the new generation that holds the same messages. */
  carry(id: number, rootId: number, position: number): void {
    const shownFrom = sql`coalesce(${summaries.shownFrom}, ${position})`;
    this.orm
      .update(summaries)
      .set({ rootId, logPosition: position, shownFrom, shownUntil: null })
      .where(eq(summaries.id, id))
      .run();
  }

  /** Every finished summary of a session, oldest first, even if no context showed it. */
  finished(sessionId: string): DoneSummary[] {
    const isFinished = and(eq(summaries.sessionId, sessionId), eq(summaries.status, "done"));
    return this.orm.select().from(summaries).where(isFinished).orderBy(summaries.id).all() as DoneSummary[];
  }

  /** The ids of a session's failed and parked tries. Their errors may quote messages. */
  tries(sessionId: string): number[] {
    const isTry = and(eq(summaries.sessionId, sessionId), inArray(summaries.status, ["failed", "parked"]));
    const rows = this.orm.select({ id: summaries.id }).from(summaries).where(isTry);
    return rows.all().map(({ id }) => id);
  }

  /** The newest try of a summarizer since the root's last summary. */
  newestTry(rootId: number, summarizerId: string, promptVersion: number): Try | undefined {
    return this.newestTryWhere(eq(summaries.rootId, rootId), summaries.logPosition, summarizerId, promptVersion);
  }

  /** The claims of a session, oldest first, expired ones included. */
  claims(sessionId: string): Claim<typeof summaries>[] {
    return this.claimsWhere(eq(summaries.sessionId, sessionId));
  }

  /** Deletes the claims of all sessions. Their owners find that they lost them. */
  deleteClaims(): void {
    this.orm.delete(summaries).where(eq(summaries.status, "claimed")).run();
  }

  /**
   * When a summarizer may be asked again, for a theme or a span, after its service refused everyone or refused this
   * claimant's key or settings. Undefined if it may be asked now.
   */
  pausedUntil(summarizerId: string, claimant: string, nowMs: number): number | undefined {
    const [theme, span] = [summaries, spanSummaries].map((t) => {
      const isPausing = sql`${t.pauses} = 1 and ${t.summarizerId} = ${summarizerId} and ${t.nextTryAtMs} > ${nowMs}
        and ${t.createdAtMs} <= ${nowMs} and (${t.status} = 'failed' or ${t.claimant} = ${claimant})`;
      return (
        this.orm
          .select({ untilMs: max(t.nextTryAtMs) })
          .from(t)
          .where(isPausing)
          .get()?.untilMs ?? 0
      );
    });
    return Math.max(theme!, span!) || undefined;
  }
}
