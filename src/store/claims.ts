import { and, type Column, desc, eq, inArray, max, type SQL, sql } from "drizzle-orm";
import type { StoreDatabase } from "./open.ts";
import type { spanSummaries, summaries } from "./schema.ts";

type ClaimableTable = typeof summaries | typeof spanSummaries;

/** A row that says which open store makes a summary, and until when the claim holds. */
export type Claim<T extends ClaimableTable> = T["$inferSelect"] & { claimant: string; claimedUntilMs: number };

/** A failed or parked try to make a summary. */
export interface Try {
  status: "failed" | "parked";
  /** The log position at which the theme was read; the last seq of a span. */
  extent: number;
  /** The number of tries since the last summary, this one included. */
  attempts: number;
  claimant: string | null;
  createdAtMs: number;
  errorCode: string | null;
  nextTryAtMs: number | null;
}

/** The queries of both `summaries` and `span_summaries`. Each row is a summary, a try to make one, or a claim. */
export class ClaimableRows<T extends ClaimableTable> {
  protected readonly orm: StoreDatabase["orm"];
  readonly #table: typeof summaries;

  constructor({ orm }: StoreDatabase, table: T) {
    this.orm = orm;
    this.#table = table as typeof summaries; // drizzle's types do not accept either of two tables
  }

  /** Returns the id of the new row. */
  add(row: T["$inferInsert"]): number {
    const { lastInsertRowid } = this.orm
      .insert(this.#table)
      .values(row as typeof summaries.$inferInsert)
      .run();
    return Number(lastInsertRowid);
  }

  delete(id: number): void {
    this.orm.delete(this.#table).where(eq(this.#table.id, id)).run();
  }

  /** Returns false if the claim was lost. */
  renewClaim(id: number, claimant: string, untilMs: number): boolean {
    const renewed = this.orm.update(this.#table).set({ claimedUntilMs: untilMs });
    return renewed.where(this.#isHeld(id, claimant)).run().changes === 1;
  }

  /** Returns false if the claim was lost. */
  endClaim(id: number, claimant: string): boolean {
    return this.orm.delete(this.#table).where(this.#isHeld(id, claimant)).run().changes === 1;
  }

  #isHeld(id: number, claimant: string): SQL | undefined {
    return and(eq(this.#table.id, id), eq(this.#table.status, "claimed"), eq(this.#table.claimant, claimant));
  }

  /** The claims among some rows, oldest first, expired ones included. */
  protected claimsWhere(scope: SQL | undefined): Claim<T>[] {
    const isClaim = and(scope, eq(this.#table.status, "claimed"));
    return this.orm.select().from(this.#table).where(isClaim).orderBy(this.#table.id).all() as unknown as Claim<T>[];
  }

  /** The newest try of a summarizer since the last summary among some rows. */
  protected newestTryWhere(
    scope: SQL | undefined,
    extent: Column,
    summarizerId: string,
    promptVersion: number,
  ): Try | undefined {
    const t = this.#table;
    const isDone = and(scope, eq(t.status, "done"), eq(t.standsIn, false));
    const lastDone = this.orm
      .select({ id: max(t.id) })
      .from(t)
      .where(isDone);
    return this.orm
      .select({
        status: t.status,
        extent: sql<number>`${extent}`,
        attempts: t.attempts,
        claimant: t.claimant,
        createdAtMs: t.createdAtMs,
        errorCode: t.errorCode,
        nextTryAtMs: t.nextTryAtMs,
      })
      .from(t)
      .where(
        and(
          scope,
          inArray(t.status, ["failed", "parked"]),
          eq(t.summarizerId, summarizerId),
          eq(t.promptVersion, promptVersion),
          sql`${t.id} > coalesce(${lastDone}, 0)`,
        ),
      )
      .orderBy(desc(t.id))
      .limit(1)
      .get() as Try | undefined;
  }
}
