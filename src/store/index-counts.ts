import { getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { StoreDatabase } from "./open.ts";

interface IndexName {
  name: string;
  /** SQL: which rows belong in the index; null for all. */
  condition: string | null;
}

/** SQL: the number of rows, and a sum that differs if some rows are missing and others are named twice. */
const COUNTED = "count(*) || ' ' || coalesce(sum((rowid * 31) % 1000003), 0)";

/**
 * Compares the indexes of a table with the table. Lists that have no other count use it. It reads the whole table, so each is compared
 * only once: what is damaged later is noticed when the store is opened again.
 */
export class IndexCounts {
  readonly #client: StoreDatabase["client"];
  readonly #whole = new Set<SQLiteTable>();

  constructor({ client }: StoreDatabase) {
    this.#client = client;
  }

  /** @throws {SyntaxError} if an index of the table lacks rows, or has others. */
  assertWhole(table: SQLiteTable): void {
    if (this.#whole.has(table)) return;
    const tableName = getTableName(table);
    const indexes = this.#client
      .prepare<[string], IndexName>(
        `SELECT name, CASE WHEN instr(sql, ' WHERE ') > 0 THEN substr(sql, instr(sql, ' WHERE ') + 7) END AS condition
        FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?`,
      )
      .all(tableName);
    for (const { name, condition } of indexes) {
      const rows = condition === null ? "" : `WHERE ${condition}`;
      const counts = ["NOT INDEXED", `INDEXED BY "${name}"`].map((by) => {
        return this.#client.prepare<[], string>(`SELECT ${COUNTED} FROM "${tableName}" ${by} ${rows}`).pluck().get();
      });
      if (counts[0] !== counts[1]) throw new SyntaxError(`index ${name} does not have the rows of ${tableName}`);
    }
    this.#whole.add(table);
  }
}
