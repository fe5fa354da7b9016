/** The token budgets of the experiment. */
export const BUDGETS = [1_000, 2_000, 4_000, 8_000, 16_000] as const;
/** Those of contexts for a question. */
export const QUERY_BUDGETS = [500, ...BUDGETS] as const;
