import { eq, sql } from "drizzle-orm";
import type { StoreDatabase } from "./open.ts";
import { discardedCosts, spanSummaries, summaries } from "./schema.ts";

/** The cost of model calls, as the service reports it. NULL if the service reports nothing. */
export interface Costs {
  inputTokens: number | null;
  outputTokens: number | null;
  /** US dollars. */
  costUsd: number | null;
}

export const NO_COSTS: Costs = { inputTokens: null, outputTokens: null, costUsd: null };

/** Rows of `discarded_costs`: the costs of summaries that were not kept. */
export class CostRepository {
  readonly #orm;

  constructor({ orm }: StoreDatabase) {
    this.#orm = orm;
  }

  /** Adds the costs of replies from which no summary was stored. */
  discard(sessionId: string, summarizerId: string, { inputTokens, outputTokens, costUsd }: Costs): void {
    if (inputTokens === null && outputTokens === null && costUsd === null) return;
    const total = discardedCosts;
    this.#orm
      .insert(total)
      .values({ sessionId, summarizerId, inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0, costUsd })
      .onConflictDoUpdate({
        target: [total.sessionId, total.summarizerId],
        set: {
          inputTokens: sql`${total.inputTokens} + excluded.input_tokens`,
          outputTokens: sql`${total.outputTokens} + excluded.output_tokens`,
          // An unknown price leaves the known sum as it is.
          costUsd: sql`coalesce(${total.costUsd} + excluded.cost_usd, ${total.costUsd}, excluded.cost_usd)`,
        },
      })
      .run();
  }

  /** Adds the costs of a row of `summaries` that is about to be deleted. */
  discardSummary(id: number): void {
    this.#discardRow(summaries, id);
  }

  /** Adds the costs of a row of `span_summaries` that is about to be deleted. */
  discardSpan(id: number): void {
    this.#discardRow(spanSummaries, id);
  }

  #discardRow(table: typeof summaries | typeof spanSummaries, id: number): void {
    const row = this.#orm.select().from(table).where(eq(table.id, id)).get();
    if (row?.summarizerId) this.discard(row.sessionId, row.summarizerId, row);
  }
}
