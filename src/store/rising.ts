/** @throws {SyntaxError} if the keys of rows do not rise: a damaged index can name a row twice, and another one never. */
export function assertRising<Row>(rows: readonly Row[], keyOf: (row: Row) => number, what: string): void {
  let before = Number.NEGATIVE_INFINITY;
  for (const row of rows) {
    const key = keyOf(row);
    if (key <= before) throw new SyntaxError(`${what} ${key} comes after ${before}`);
    before = key;
  }
}

/** @throws {SyntaxError} if an id is there twice. */
export function assertOnce(ids: readonly number[], what: string): void {
  if (new Set(ids).size < ids.length) throw new SyntaxError(`an index names a ${what} twice`);
}
