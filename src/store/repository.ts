import type { BetterSQLite3Database } from "drizzle-orm/better-sqlite3";
import type { StoreDatabase } from "./open.ts";
import type { StatementTag } from "./statement.ts";

/**
 * Rows of a table. A repository turns rows into values and back. It decides nothing and opens no transaction: write.ts does.
 * Its written SQL is in its first fields. A field that is public is a method.
 */
export abstract class Repository {
  protected readonly path: string;
  protected readonly orm: BetterSQLite3Database;
  protected readonly statement: StatementTag;

  constructor({ path, orm, statement }: StoreDatabase) {
    this.path = path;
    this.orm = orm;
    this.statement = statement;
  }
}
