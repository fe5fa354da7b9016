import { Repository } from "../file/repository.ts";
import { columns, type InsertOf, type RowOf } from "../sql/statement.ts";
import { TABLES } from "../sql/tables.ts";

const COSTS = columns(TABLES.discardedCosts);

/** The cost of model calls as the service reports it. NULL means that it reports nothing. */
export interface Costs {
  inputTokens: number | null;
  outputTokens: number | null;
  /** US dollars. */
  costUsd: number | null;
}

export const NO_COSTS: Costs = { inputTokens: null, outputTokens: null, costUsd: null };

export class CostRepository extends Repository {
  // A checksum is computed here, so the sums are, too.
  readonly #of = this.statement<[sessionId: string, summarizerId: string], RowOf<typeof COSTS>>`
    SELECT ${COSTS} FROM discarded_costs WHERE session_id = ? AND summarizer_id = ?`.get;
  readonly #put = this.statement<InsertOf<typeof COSTS>>`${COSTS.upsert()}`.run;

  discard(sessionId: string, summarizerId: string, costs: { [C in keyof Costs]?: Costs[C] | undefined }): void {
    const { inputTokens, outputTokens, costUsd } = costs;
    if (inputTokens == null && outputTokens == null && costUsd == null) return;
    const before = this.#of(sessionId, summarizerId);
    this.#put({
      ...{ sessionId, summarizerId },
      inputTokens: (before?.inputTokens ?? 0) + (inputTokens ?? 0),
      outputTokens: (before?.outputTokens ?? 0) + (outputTokens ?? 0),
      // An unknown price leaves the known sum as it is.
      costUsd: costUsd == null ? (before?.costUsd ?? null) : (before?.costUsd ?? 0) + costUsd,
    });
  }
}
