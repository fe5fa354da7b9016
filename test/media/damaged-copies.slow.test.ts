import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { writeStore } from "../../scripts/bench/damage/store.ts";
import { benchDamage } from "../../scripts/bench/damage.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

const source = join(scratchFolder(), "own.db");

beforeAll(() => writeStore(source));

/**
 * Goal: a store with flipped bits or a ruined page shows nothing that was not stored, and `verify --rebuild` leaves nothing wrong.
 * Method: the benchmark of damage, on a few copies, and on some in which a bit of a random column is flipped. Each is read in every
 * way that programs can, and compared.
 */
test.each([
  { copies: 12, isByColumn: false },
  { copies: 8, isByColumn: true },
])(
  "promise 7: damaged copies are refused or read right, and healed where they can be: %o",
  async (damage) => {
    const faults: string[] = [];
    const { figures } = await benchDamage(damage.copies, {
      ...{ seed: 100, isByColumn: damage.isByColumn, source },
      onFault: (fault) => faults.push(fault),
    });
    expect(figures).toMatchObject({ copies: damage.copies, untyped: 0, crashes: 0, notHealed: 0 });
    expect(figures.wrongShown, faults.join("\n")).toBe(0);
    expect(figures.refusedReads).toBeGreaterThan(damage.copies);
  },
  240_000,
);
