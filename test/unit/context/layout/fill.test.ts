import { expect, test } from "vitest";
import { expectedTokens } from "../../../../src/context/layout/fill.ts";
import { textMessage } from "../../../support/render-message.ts";
import { viewOf } from "../../../support/render-view.ts";

const SETTINGS = { hotSize: 8, evictBatch: 4 };

/** What is expected of a window whose newest message was `anchorSeq` when the frontier moved, as it grows. */
function expected(tokens: readonly number[], anchorSeq: number): number[] {
  return tokens.slice(anchorSeq).map((_, more) => {
    const window = tokens.slice(0, anchorSeq + more + 1).map((tokens, seq) => textMessage(seq, "user", tokens));
    return expectedTokens(viewOf({ window, anchorSeq, windowTokensMax: 8_000 }), SETTINGS);
  });
}

test("expects the messages that are still to come, as long as those of the window", () => {
  const window = Array.from({ length: 12 }, () => 100);
  expect(new Set(expected(window, 7)).size).toBe(1);
  expect(expected(window, 7)[0]).toBe(expected([100], 0)[0]);
});

test("expects more when the window outgrows it, once, and never more than the window may hold", () => {
  const [first, ...later] = expected([100, 100, 100, 100, 2_000, 100, 100, 100], 3);
  expect(first).toBeLessThan(2_000);
  expect(later[0]).toBeGreaterThan(3_400);
  expect(later[0]).toBeLessThan(8_000);
  expect(new Set(later).size).toBe(1);
  expect(expected([100, 7_900], 0)[1]).toBeLessThan(8_200);
});
