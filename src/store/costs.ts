import type { StoreDatabase } from "./open.ts";

/** What calls of a model cost, as its service reports it; NULL where it does not. */
export interface Costs {
  inputTokens: number | null;
  outputTokens: number | null;
  /** US dollars. */
  costUsd: number | null;
}

export const NO_COSTS: Costs = { inputTokens: null, outputTokens: null, costUsd: null };

/** Rows of `discarded_costs`: what was paid stays known when what it was paid for goes. */
export class CostRepository {
  readonly #discard;
  readonly #discardSummary;
  readonly #discardSpan;

  constructor({ client }: StoreDatabase) {
    // A sum with a price that is not known is what is known of it.
    const intoTotal = `ON CONFLICT (session_id, summarizer_id) DO UPDATE SET
      input_tokens = input_tokens + excluded.input_tokens,
      output_tokens = output_tokens + excluded.output_tokens,
      cost_usd = CASE WHEN excluded.cost_usd IS NULL THEN cost_usd ELSE coalesce(cost_usd, 0) + excluded.cost_usd END`;
    this.#discard = client.prepare<[string, string, number, number, number | null]>(
      `INSERT INTO discarded_costs (session_id, summarizer_id, input_tokens, output_tokens, cost_usd)
       VALUES (?, ?, ?, ?, ?) ${intoTotal}`,
    );
    const rowOf = (table: string): string =>
      `INSERT INTO discarded_costs (session_id, summarizer_id, input_tokens, output_tokens, cost_usd)
       SELECT session_id, summarizer_id, coalesce(input_tokens, 0), coalesce(output_tokens, 0), cost_usd
       FROM ${table} WHERE id = ? AND (input_tokens IS NOT NULL OR output_tokens IS NOT NULL OR cost_usd IS NOT NULL)
       ${intoTotal}`;
    this.#discardSummary = client.prepare<[number]>(rowOf("summaries"));
    this.#discardSpan = client.prepare<[number]>(rowOf("span_summaries"));
  }

  /** Of replies that nothing is written of. */
  discard(sessionId: string, summarizerId: string, { inputTokens, outputTokens, costUsd }: Costs): void {
    if (inputTokens === null && outputTokens === null && costUsd === null) return;
    this.#discard.run(sessionId, summarizerId, inputTokens ?? 0, outputTokens ?? 0, costUsd);
  }

  /** Of a row of `summaries` that is about to go. */
  discardSummary(id: number): void {
    this.#discardSummary.run(id);
  }

  /** Of a row of `span_summaries` that is about to go. */
  discardSpan(id: number): void {
    this.#discardSpan.run(id);
  }
}
