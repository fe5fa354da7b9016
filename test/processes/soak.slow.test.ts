import { expect, test } from "vitest";
import { soak } from "../../scripts/soak/run.ts";

/**
 * Goal: processes of every kind that work on one store, and are killed at random, lose nothing and see nothing wrong.
 * Method: the soak, for a tenth of a minute. `npm run soak -- run --minutes 60` is the long one.
 */
test("promise 1: a short soak loses nothing, shows nothing wrong, and meets only typed errors", async () => {
  const faults: string[] = [];
  const figures = await soak({ minutes: 0.1, seed: 3, onFault: (fault) => faults.push(fault), onRound: () => {} });
  expect(faults).toEqual([]);
  expect(figures).toMatchObject({ lost: 0, wrong: 0, untyped: 0, rounds: 1, damagedCopies: 6 });
  expect(figures.kills).toBeGreaterThan(2);
}, 240_000);
