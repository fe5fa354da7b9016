import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { columnsOf } from "../../scripts/bench/damage/columns.ts";
import { benchDamage } from "../../scripts/bench/damage.ts";
import { inDatabase } from "../support/rows.ts";
import { temporaryPath } from "../support/temporary-store.ts";

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

test("the values of each column are found in tables and indexes of several pages", () => {
  const path = temporaryPath();
  inDatabase(path, (database) => {
    database.exec(`CREATE TABLE t (a TEXT, b INTEGER, c TEXT);
      WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
      INSERT INTO t SELECT 'a' || i, i, 'c' || i FROM n;
      CREATE INDEX by_c ON t (c)`);
  });
  const bytes = readFileSync(path);
  const found = (name: string): string[] => {
    const { places } = columnsOf(path).find((column) => column.name === name)!;
    return places.map(({ byte, length }) => bytes.toString("latin1", byte, byte + length)).sort();
  };
  const numbers = Array.from({ length: 2_000 }, (_, index) => 1_000 + index);
  expect(found("t 0")).toEqual(numbers.map((number) => `a${number}`));
  expect(found("t 2")).toEqual(numbers.map((number) => `c${number}`));
  expect(found("by_c 0")).toEqual(numbers.map((number) => `c${number}`));
  const twoBytes = numbers.map((number) => String.fromCharCode(number >> 8, number & 255));
  expect(found("t 1")).toEqual(twoBytes.sort());
});
