import type Database from "better-sqlite3";
import { Column, getTableColumns, getTableName } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

/** Positional parameters as a tuple, or named ones as an object. */
type Parameters = readonly unknown[] | object;
type Arguments<P extends Parameters> = P extends readonly unknown[] ? P : [P];

/** What `all` and `get` return for a row: an object, its first column, or the list of its columns. */
type RowForm = "object" | "value" | "tuple";

/** One statement of written SQL. SQLite compiles it when it first runs, so that opening a store compiles none. */
export class Statement<P extends Parameters, Row = never> {
  readonly #client: Database.Database;
  readonly #sql: string;
  readonly #form: RowForm;
  readonly #decode: ((row: Row) => Row) | undefined;
  #compiled: Database.Statement<unknown[], Row> | undefined;

  constructor(client: Database.Database, sql: string, form: RowForm = "object", decode?: (row: Row) => Row) {
    this.#client = client;
    this.#sql = sql;
    this.#form = form;
    this.#decode = decode;
  }

  get(...parameters: Arguments<P>): Row | undefined {
    const row = this.#statement().get(...parameters);
    return row === undefined || this.#decode === undefined ? row : this.#decode(row);
  }

  all(...parameters: Arguments<P>): Row[] {
    const rows = this.#statement().all(...parameters);
    if (this.#decode !== undefined) for (const row of rows) this.#decode(row);
    return rows;
  }

  /** Rows as SQLite finds them, not decoded. */
  iterate(...parameters: Arguments<P>): IterableIterator<Row> {
    return this.#statement().iterate(...parameters);
  }

  run(...parameters: Arguments<P>): Database.RunResult {
    return this.#statement().run(...parameters);
  }

  #statement(): Database.Statement<unknown[], Row> {
    if (this.#compiled === undefined) {
      this.#compiled = this.#client.prepare<unknown[], Row>(this.#sql);
      if (this.#form === "value") this.#compiled.pluck();
      if (this.#form === "tuple") this.#compiled.raw();
    }
    return this.#compiled;
  }
}

/**
 * Columns of a table as written SQL needs them. In a template literal it is a list for SELECT that gives each column its
 * name in the schema: `id, session_id AS sessionId`.
 */
export class Columns<Row> {
  readonly #table: string;
  readonly #columns: readonly (readonly [key: string, column: Column])[];
  /** The columns that SQLite does not store as JavaScript uses them: booleans, JSON, vectors. */
  readonly #coded: readonly (readonly [key: string, column: Column])[];

  constructor(table: SQLiteTable, keys: readonly string[]) {
    const known: Record<string, Column> = getTableColumns(table);
    this.#table = getTableName(table);
    this.#columns = keys.map((key) => [key, known[key]!]);
    this.#coded = this.#columns.filter(
      ([, column]) => column.mapFromDriverValue !== Column.prototype.mapFromDriverValue,
    );
  }

  toString(): string {
    return this.#columns.map(([key, { name }]) => (name === key ? name : `${name} AS ${key}`)).join(", ");
  }

  /** The same list for a statement that calls the table `alias`. */
  of(alias: string): string {
    return this.#columns.map(([key, { name }]) => `${alias}.${name}${name === key ? "" : ` AS ${key}`}`).join(", ");
  }

  /** An INSERT that takes a value of each column by its name in the schema. */
  insert(): string {
    const names = this.#columns.map(([, { name }]) => name);
    return `INSERT INTO ${this.#table} (${names}) VALUES (${this.#columns.map(([key]) => `@${key}`)})`;
  }

  /** An INSERT that overwrites the row with the same first column, if there is one. It never changes `fixed` columns. */
  upsert(...fixed: (keyof Row)[]): string {
    const [[, primary], ...others] = this.#columns as [[string, Column], ...[string, Column][]];
    const changing = others.filter(([key]) => !fixed.includes(key as keyof Row));
    const updates = changing.map(([, { name }]) => `${name} = excluded.${name}`);
    return `${this.insert()} ON CONFLICT (${primary.name}) DO UPDATE SET ${updates}`;
  }

  /** A statement whose rows hold these columns. Values of other types than SQLite's are decoded in place. */
  statement<P extends Parameters>(client: Database.Database, sql: string): Statement<P, Row> {
    return new Statement<P, Row>(client, sql, "object", this.#coded.length === 0 ? undefined : this.#decode);
  }

  readonly #decode = (row: Row): Row => {
    const values = row as Record<string, unknown>;
    for (const [key, column] of this.#coded) {
      if (values[key] !== null) values[key] = column.mapFromDriverValue(values[key]);
    }
    return row;
  };
}

/** The type of a row with these columns. */
export type RowOf<C> = C extends Columns<infer Row> ? Row : never;

/** @param keys  Names of columns in the schema. All columns unless given. */
export function columns<T extends SQLiteTable, K extends keyof T["$inferSelect"] & string>(
  table: T,
  keys?: readonly K[],
): Columns<Pick<T["$inferSelect"], K>> {
  return new Columns(table, keys ?? Object.keys(getTableColumns(table)));
}
