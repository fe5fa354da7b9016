import { expect, test } from "vitest";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

test("what was paid for in vain adds up, and what is not reported leaves the sums", () => {
  const store = temporaryStore();
  store.session("s");
  const after = (costs: { inputTokens?: number | null; outputTokens?: number; costUsd?: number | null }): unknown[] => {
    internalsOf(store).repositories.costs.discard("s", "m", costs);
    return store.query("SELECT input_tokens, output_tokens, cost_usd FROM discarded_costs").map(Object.values);
  };
  expect(after({ inputTokens: null })).toEqual([]);
  expect(after({ outputTokens: 5 })).toEqual([[0, 5, null]]);
  expect(after({ inputTokens: 3, costUsd: 0.5 })).toEqual([[3, 5, 0.5]]);
  expect(after({ inputTokens: 1, costUsd: null })).toEqual([[4, 5, 0.5]]);
  expect(after({ costUsd: 0.25 })).toEqual([[4, 5, 0.75]]);
});
