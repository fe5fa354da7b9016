import { getTableName } from "drizzle-orm";
import type { BetterSQLite3Database } from "drizzle-orm/better-sqlite3";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { StoreDatabase } from "./open.ts";
import { columns, type StatementTag } from "./statement.ts";

/**
 * A repository turns rows into values and back. It decides nothing and opens no transaction. Its written SQL is in its
 * first fields; public fields are methods.
 */
export abstract class Repository {
  readonly path: string;
  protected readonly orm: BetterSQLite3Database;
  protected readonly statement: StatementTag;

  constructor({ path, orm, statement }: StoreDatabase) {
    this.path = path;
    this.orm = orm;
    this.statement = statement;
  }

  /** Returns a function that writes the checksum of a row that a drizzle query has written. */
  protected sealing(table: SQLiteTable, key = "id"): (id: string | number) => void {
    const whole = columns(table);
    const name = getTableName(table);
    const read = this.statement<
      [id: string | number],
      Record<string, unknown>
    >`SELECT ${String(whole)} FROM ${name} WHERE ${key} = ?`;
    const write = this.statement<{
      checksum: number;
      id: string | number;
    }>`UPDATE ${name} SET checksum = @checksum WHERE ${key} = @id`;
    return (id) => {
      const row = read.get(id);
      if (row === undefined) return;
      whole.seal(row);
      write.run({ checksum: row.checksum as number, id });
    };
  }
}

/** Describes each row of a table whose checksum is wrong. */
export function damagedRows({ statement }: StoreDatabase, table: SQLiteTable): string[] {
  const whole = columns(table);
  const rows = statement<[], Record<string, unknown>>`SELECT ${String(whole)} FROM ${getTableName(table)}`;
  const damages: string[] = [];
  for (const row of rows.iterate()) {
    const damage = whole.damageOf(row);
    if (damage !== undefined) damages.push(damage);
  }
  return damages;
}
