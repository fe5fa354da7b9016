import { expect, test } from "vitest";
import { CallBudget, Spending } from "../../../src/summaries/call-budget.ts";

test("each call that was begun counts, also where only some of them report what they cost", () => {
  const spending = new Spending();
  spending.begin(500);
  spending.report({ inputTokens: 10, outputTokens: 1 });
  spending.begin(700);
  expect({ ...spending }).toMatchObject({ callCount: 2, tokenCount: 711 });
});

test("a call that was not begun does not count", () => {
  const budget = new CallBudget(3);
  const reserved = { callCount: 2, tokenCount: 1_000 };
  expect(budget.reserve(reserved)).toBe(true);
  expect(budget.reserve(reserved)).toBe(false);
  budget.release(reserved, { callCount: 1, tokenCount: 400 });
  expect(budget.reserve(reserved)).toBe(true);
  expect(budget.reserve({ callCount: 1, tokenCount: 1 })).toBe(false);
});
