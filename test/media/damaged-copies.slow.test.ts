import { expect, test } from "vitest";
import { benchDamage } from "../../scripts/bench/damage.ts";

/**
 * Goal: a store with flipped bits or a ruined page shows nothing that was not stored, and `verify --rebuild` leaves nothing wrong.
 * Method: the benchmark of damage, on twenty copies, and on ten in which a bit of a random column is flipped. Each is read in every
 * way that programs can, and compared.
 */
test.each([
  { copies: 20, isByColumn: false },
  { copies: 10, isByColumn: true },
])(
  "promise 7: damaged copies are refused or read right, and healed where they can be: %o",
  async (damage) => {
    const { copies, isByColumn } = damage;
    const faults: string[] = [];
    const { figures } = await benchDamage(copies, { seed: 100, isByColumn, onFault: (fault) => faults.push(fault) });
    expect(figures).toMatchObject({ copies, untyped: 0, crashes: 0, notHealed: 0 });
    expect(figures.wrongShown, faults.join("\n")).toBe(0);
    expect(figures.refusedReads).toBeGreaterThan(copies);
  },
  240_000,
);
