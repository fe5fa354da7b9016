import type Database from "better-sqlite3";
import { getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

interface IndexName {
  name: string;
  /** SQL: which rows belong in the index; null for all. */
  condition: string | null;
}

/** SQL: the number of rows, and a sum that differs if some rows are missing and others are named twice. */
const SUM = "count(*) || ' ' || coalesce(sum((id * 31) % 1000003), 0)";

/**
 * Compares indexes with the rows of their tables, so that no list lacks a row, and no row is found by the key of another. SQLite's
 * `integrity_check` of a table does the same, and also reads every long value.
 *
 * It reads the whole index and all rows. So large tables are compared only before an export or a push. Each index is compared once:
 * what is damaged later is noticed when the store is opened again.
 */
export class IndexCheck {
  readonly #client: Database.Database;
  /** The tables and indexes that have been compared. */
  readonly #whole = new Set<string>();

  constructor(client: Database.Database) {
    this.#client = client;
  }

  /**
   * @param only  The name of the index; by default all of the table.
   * @throws {SyntaxError} if an index lacks rows, has others, or has them under other keys.
   */
  assertWhole(table: SQLiteTable, only?: string): void {
    const tableName = getTableName(table);
    if (this.#whole.has(only ?? tableName)) return;
    for (const { name, condition } of this.#indexesOf(tableName)) {
      if (only !== undefined && only !== name) continue;
      const where = condition === null ? "" : `WHERE ${condition}`;
      const byTable = this.#sum(`(SELECT rowid AS id FROM "${tableName}" NOT INDEXED ${where})`);
      if (byTable !== this.#sum(this.#rowsNamedBy(name, tableName, where))) {
        throw new SyntaxError(`index ${name} does not have the rows of ${tableName}`);
      }
    }
    this.#whole.add(only ?? tableName);
  }

  #indexesOf(tableName: string): IndexName[] {
    return this.#client
      .prepare<[string], IndexName>(
        `SELECT name, CASE WHEN instr(sql, ' WHERE ') > 0 THEN substr(sql, instr(sql, ' WHERE ') + 7) END AS condition
        FROM sqlite_schema WHERE type = 'index' AND tbl_name = ?`,
      )
      .all(tableName);
  }

  /** SQL: the rows that an index names; NULL for one with other keys, or none. LIMIT keeps SQLite from reading the keys from the rows. */
  #rowsNamedBy(index: string, tableName: string, where: string): string {
    const keys = this.#client.prepare<[string], string>("SELECT name FROM pragma_index_info(?)").pluck().all(index);
    const selected = keys.map((key, at) => `, "${key}" AS key${at}`).join("");
    const isSame = keys.map((key, at) => ` AND i."${key}" IS k.key${at}`).join("");
    return `(SELECT i.rowid AS id FROM (SELECT rowid AS id${selected} FROM "${tableName}" INDEXED BY "${index}" ${where} LIMIT -1) k
      LEFT JOIN "${tableName}" i NOT INDEXED ON i.rowid = k.id${isSame})`;
  }

  #sum(rows: string): string {
    return this.#client.prepare<[], string>(`SELECT ${SUM} FROM ${rows}`).pluck().get()!;
  }
}
