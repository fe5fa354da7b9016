import { expect, test } from "vitest";
import { benchDamage } from "../../scripts/bench/damage.ts";

/**
 * Goal: a store with flipped bits or a ruined page shows nothing that was not stored, and `verify --rebuild` leaves nothing wrong.
 * Method: the benchmark of damage, on thirty copies. Each is read in every way that programs can, and compared.
 */
test("promise 7: damaged copies are refused or read right, and healed where they can be", async () => {
  const faults: string[] = [];
  const { figures } = await benchDamage(30, { seed: 100, onFault: (fault) => faults.push(fault) });
  expect(figures).toMatchObject({ copies: 30, untyped: 0, crashes: 0, notHealed: 0 });
  expect(figures.wrongShown, faults.join("\n")).toBe(0);
  expect(figures.refusedReads).toBeGreaterThan(30);
}, 240_000);
