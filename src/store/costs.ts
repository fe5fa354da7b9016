import { sql } from "drizzle-orm";
import { Repository } from "./repository.ts";
import { discardedCosts } from "./schema.ts";

/** The cost of model calls as the service reports it. NULL means that it reports nothing. */
export interface Costs {
  inputTokens: number | null;
  outputTokens: number | null;
  /** US dollars. */
  costUsd: number | null;
}

export const NO_COSTS: Costs = { inputTokens: null, outputTokens: null, costUsd: null };

export class CostRepository extends Repository {
  discard(sessionId: string, summarizerId: string, costs: { [C in keyof Costs]?: Costs[C] | undefined }): void {
    const { inputTokens, outputTokens, costUsd } = costs;
    if (inputTokens == null && outputTokens == null && costUsd == null) return;
    const total = discardedCosts;
    this.orm
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
}
