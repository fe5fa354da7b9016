import { and, eq, inArray, isNull, max, sql } from "drizzle-orm";
import { ClaimableRows, type Done, type Try } from "./claims.ts";
import type { CostRepository } from "./costs.ts";
import type { StoreDatabase } from "./open.ts";
import { spanSummaries, summaries } from "./schema.ts";
import { columns } from "./statement.ts";

const SUMMARY = columns(summaries);

export type NewSummary = Omit<typeof summaries.$inferInsert, "id" | "shownFrom" | "shownUntil">;

export type DoneSummary = Done<typeof summaries>;

/** Summaries of older generations are about trees that no longer exist. */
const IS_STANDING = `status = 'done' AND shown_until IS NULL AND log_position > (SELECT max(log_position) FROM generations)`;

export class SummaryRepository extends ClaimableRows<typeof summaries> {
  // Moves of the frontier and renders run these.
  /** The summaries that the context shows, by their oldest messages. */
  readonly shown = this.statement<[sessionId: string], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND ${IS_STANDING} AND shown_from IS NOT NULL
    ORDER BY seq_first, id`.all;
  /** The finished summaries that the next move of the frontier may show, oldest first. */
  readonly waiting = this.statement<[sessionId: string], DoneSummary>`
    SELECT ${SUMMARY} FROM summaries WHERE session_id = ? AND ${IS_STANDING} AND shown_from IS NULL ORDER BY id`.all;
  readonly markShown = this.statement<[position: number, id: number]>`
    UPDATE summaries SET shown_from = ? WHERE id = ?`.run;
  readonly markHidden = this.statement<[position: number, id: number]>`
    UPDATE summaries SET shown_until = ? WHERE id = ?`.run;

  constructor(database: StoreDatabase, costs: CostRepository) {
    super(database, summaries, costs);
  }

  standingRootCount(): number {
    const count = sql<number>`count(distinct ${summaries.rootId})`;
    return this.orm.select({ count }).from(summaries).where(sql.raw(IS_STANDING)).get()!.count;
  }

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

  /** Failed and parked attempts. Their errors may quote messages. */
  tries(sessionId: string): number[] {
    const isTry = and(eq(summaries.sessionId, sessionId), inArray(summaries.status, ["failed", "parked"]));
    const rows = this.orm.select({ id: summaries.id }).from(summaries).where(isTry);
    return rows.all().map(({ id }) => id);
  }

  newestTry(rootId: number, summarizerId: string, promptVersion: number): Try | undefined {
    return this.newestTryWhere(eq(summaries.rootId, rootId), summaries.logPosition, summarizerId, promptVersion);
  }

  claims(sessionId: string) {
    return this.claimsWhere(eq(summaries.sessionId, sessionId));
  }

  deleteClaims(): void {
    this.orm.delete(summaries).where(eq(summaries.status, "claimed")).run();
  }

  /** Returns when to ask a summarizer again after its service refused everyone or this claimant; undefined for now. */
  pausedUntil(summarizerId: string, claimant: string, nowMs: number): number | undefined {
    const [theme, span] = [summaries, spanSummaries].map((t) => {
      const isPausing = sql`${t.pauses} = 1 and ${t.summarizerId} = ${summarizerId} and ${t.nextTryAtMs} > ${nowMs}
        and ${t.createdAtMs} <= ${nowMs} and (${t.status} = 'failed' or ${t.claimant} = ${claimant})`;
      const untilMs = max(t.nextTryAtMs);
      return this.orm.select({ untilMs }).from(t).where(isPausing).get()!.untilMs ?? 0;
    });
    return Math.max(theme!, span!) || undefined;
  }
}
