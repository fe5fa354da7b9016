import { expect, test } from "vitest";
import { evaluateEcho } from "../../../scripts/eval/echo.ts";

/**
 * Goal: what hooks inject and what agents ask Coppice is never found again.
 * Method: import a hundred sessions of three agents that are full of both, and ask the question of each.
 */
test("no injected block and no call of Coppice is found, nor titles anything", { timeout: 120_000 }, async () => {
  const { figures } = await evaluateEcho();
  expect(figures).toMatchObject({
    sessions: 100,
    questions: 100,
    answered: 100,
    injectedHits: 0,
    ownCallHits: 0,
    injectedTitles: 0,
    injectedSubjects: 0,
    warnings: 0,
  });
  expect(figures.subjects).toBeGreaterThan(10);
});
