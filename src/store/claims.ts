import { and, type Column, desc, eq, inArray, max, type SQL, sql } from "drizzle-orm";
import type { CostRepository } from "./costs.ts";
import type { StoreDatabase } from "./open.ts";
import { Repository } from "./repository.ts";
import type { spanSummaries, summaries } from "./schema.ts";

type ClaimableTable = typeof summaries | typeof spanSummaries;

type Claim<T extends ClaimableTable> = T["$inferSelect"] & { claimant: string; claimedUntilMs: number };

export type Done<T extends ClaimableTable> = T["$inferSelect"] & { title: string; text: string; tokenCount: number };

/** A failed or parked attempt to make a summary. */
export interface Try {
  status: "failed" | "parked";
  /** For a theme: the log position at which it was read. For a span: its last seq. */
  extent: number;
  /** The number of attempts since the last summary, including this one. */
  attempts: number;
  claimant: string | null;
  createdAtMs: number;
  errorCode: string | null;
  nextTryAtMs: number | null;
}

/** The queries of both `summaries` and `span_summaries`. Each row is a summary, an attempt to make one, or a claim. */
export abstract class ClaimableRows<T extends ClaimableTable> extends Repository {
  readonly #table: typeof summaries;
  readonly #costs: CostRepository;
  readonly #seal: (id: number) => void;

  constructor(database: StoreDatabase, table: T, costs: CostRepository) {
    super(database);
    this.#table = table as typeof summaries; // drizzle's types do not accept either of two tables
    this.#costs = costs;
    this.#seal = this.sealing(table);
  }

  add(row: T["$inferInsert"]): number {
    const added = this.orm.insert(this.#table).values(row as typeof summaries.$inferInsert);
    const id = Number(added.run().lastInsertRowid);
    this.#seal(id);
    return id;
  }

  /** Keeps the costs of the deleted rows. */
  discard(ids: readonly number[]): void {
    for (const id of ids) {
      const row = this.orm.delete(this.#table).where(eq(this.#table.id, id)).returning().get();
      if (row?.summarizerId) this.#costs.discard(row.sessionId, row.summarizerId, row);
    }
  }

  /** All finished summaries of a session, oldest first. Contexts may never have shown them. */
  done(sessionId: string): Done<T>[] {
    const isDone = and(eq(this.#table.sessionId, sessionId), eq(this.#table.status, "done"));
    return this.orm.select().from(this.#table).where(isDone).orderBy(this.#table.id).all() as unknown as Done<T>[];
  }

  /** Returns false if the claim was lost. */
  renewClaim(id: number, claimant: string, untilMs: number): boolean {
    const renewed = this.orm
      .update(this.#table)
      .set({ claimedUntilMs: untilMs })
      .where(this.#isHeld(id, claimant))
      .run();
    return renewed.changes === 1;
  }

  /** Returns false if the claim was lost. */
  endClaim(id: number, claimant: string): boolean {
    return this.orm.delete(this.#table).where(this.#isHeld(id, claimant)).run().changes === 1;
  }

  #isHeld(id: number, claimant: string): SQL | undefined {
    return and(eq(this.#table.id, id), eq(this.#table.status, "claimed"), eq(this.#table.claimant, claimant));
  }

  /** Oldest first. Expired claims are included. */
  protected claimsWhere(scope: SQL | undefined): Claim<T>[] {
    const isClaim = and(scope, eq(this.#table.status, "claimed"));
    return this.orm.select().from(this.#table).where(isClaim).orderBy(this.#table.id).all() as unknown as Claim<T>[];
  }

  /** The newest attempt of a summarizer since the last summary. */
  protected newestTryWhere(
    scope: SQL | undefined,
    extent: Column,
    summarizerId: string,
    promptVersion: number,
  ): Try | undefined {
    const { id, status, standsIn, attempts, claimant, createdAtMs, errorCode, nextTryAtMs } = this.#table;
    const isDone = and(scope, eq(status, "done"), eq(standsIn, false));
    const lastDone = this.orm
      .select({ id: max(id) })
      .from(this.#table)
      .where(isDone);
    const isTry = and(
      scope,
      inArray(status, ["failed", "parked"]),
      eq(this.#table.summarizerId, summarizerId),
      eq(this.#table.promptVersion, promptVersion),
      sql`${id} > coalesce(${lastDone}, 0)`,
    );
    return this.orm
      .select({ status, extent: sql<number>`${extent}`, attempts, claimant, createdAtMs, errorCode, nextTryAtMs })
      .from(this.#table)
      .where(isTry)
      .orderBy(desc(id))
      .limit(1)
      .get() as Try | undefined;
  }
}
