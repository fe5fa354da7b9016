import { and, eq, isNotNull, isNull, sql } from "drizzle-orm";
import type { StoreDatabase } from "./open.ts";
import { summaries } from "./schema.ts";

export type SummaryRow = typeof summaries.$inferSelect;
export type NewSummary = Omit<typeof summaries.$inferInsert, "id" | "shownFrom" | "shownUntil">;

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
  readonly #shown;
  readonly #waiting;
  readonly #finished;
  readonly #delete;
  readonly #deleteTries;
  readonly #attemptsAt;
  readonly #parkedAt;

  constructor({ orm, client }: StoreDatabase) {
    this.#insert = (row: NewSummary) => orm.insert(summaries).values(row).run();
    this.#show = client.prepare<[number, number]>("UPDATE summaries SET shown_from = ? WHERE id = ?");
    this.#hide = client.prepare<[number, number]>("UPDATE summaries SET shown_until = ? WHERE id = ?");
    const standing = and(
      eq(summaries.sessionId, sql.placeholder("sessionId")),
      sql`${summaries.status} = 'done' and ${summaries.shownUntil} is null`,
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
    this.#deleteTries = client.prepare<[string]>("DELETE FROM summaries WHERE session_id = ? AND status <> 'done'");
    this.#attemptsAt = client
      .prepare<{ root: number }, number>(
        `SELECT count(*) FROM summaries WHERE root_id = @root AND status = 'failed'
         AND id > coalesce((SELECT max(id) FROM summaries WHERE root_id = @root AND status = 'done'), 0)`,
      )
      .pluck();
    this.#parkedAt = client
      .prepare<[number], number>("SELECT max(log_position) FROM summaries WHERE root_id = ? AND status = 'parked'")
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

  /** Every finished one of a session, whether the context ever showed it or not. */
  finished(sessionId: string): DoneSummary[] {
    return this.#finished.all({ sessionId }) as DoneSummary[];
  }

  delete(id: number): void {
    this.#delete.run(id);
  }

  /** Forget every failed and parked try of a session: its error may quote what was read. */
  deleteTries(sessionId: string): void {
    this.#deleteTries.run(sessionId);
  }

  /** Tries that failed since the root's last summary. */
  failedAttempts(rootId: number): number {
    return this.#attemptsAt.get({ root: rootId }) ?? 0;
  }

  /** Log position at which the root was last parked. */
  parkedAt(rootId: number): number | undefined {
    return this.#parkedAt.get(rootId) ?? undefined;
  }
}
