import { getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { StoreDatabase } from "./open.ts";
import * as schema from "./schema.ts";

interface IndexName {
  name: string;
  /** SQL: which rows belong in the index; null for all. */
  condition: string | null;
}

/** SQL: the number of rows, and a sum that differs if some rows are missing and others are named twice. */
const SUM = "count(*) || ' ' || coalesce(sum((rowid * 31) % 1000003), 0)";

/** The tables of facts whose rows have no other count. */
const COUNTED = [
  schema.sessions,
  schema.forgottenMessages,
  schema.messageArtifacts,
  schema.pendingVectors,
  schema.undoneUnions,
  schema.frontierMoves,
  schema.summaries,
  schema.discardedCosts,
  schema.entries,
  schema.items,
];

/**
 * Compares the indexes of a table with the table. It reads the whole table, so only what reads the whole store uses it, and what
 * would harm a fork that it does not see. Each table is compared once: what is damaged later is noticed when the store is opened again.
 */
export class IndexCounts {
  readonly #client: StoreDatabase["client"];
  readonly #whole = new Set<SQLiteTable>();

  constructor({ client }: StoreDatabase) {
    this.#client = client;
  }

  assertEntriesAndItems(): void {
    for (const table of [schema.entries, schema.items]) this.assertWhole(table);
  }

  /** @throws {SyntaxError} if an index lacks rows of a table that has no other count, or has others. */
  assertFacts(): void {
    for (const table of COUNTED) this.assertWhole(table);
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
        return this.#client.prepare<[], string>(`SELECT ${SUM} FROM "${tableName}" ${by} ${rows}`).pluck().get();
      });
      if (counts[0] !== counts[1]) throw new SyntaxError(`index ${name} does not have the rows of ${tableName}`);
    }
    this.#whole.add(table);
  }
}
