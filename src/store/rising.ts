import { DamageError } from "../core/damage.ts";
/** @throws {DamageError} if the keys of rows do not rise: a damaged index can name a row twice, and another one never. */
export function assertRising<Row>(rows: readonly Row[], keyOf: (row: Row) => number, what: string): void {
  let before = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    const key = keyOf(row);
    if (key <= before) throw new DamageError(`${what} ${key} comes after ${before}`);
    before = key;
  }
}

/** @throws {DamageError} if an id is there twice. */
export function assertOnce(ids: readonly number[], what: string): void {
  if (new Set(ids).size < ids.length) throw new DamageError(`an index names a ${what} twice`);
}
