import type Database from "better-sqlite3";
import { Column, getTableColumns, getTableName, type SQL, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";

/** Positional parameters as a tuple, or named ones as an object. */
type Parameters = readonly unknown[] | object;
type Arguments<P extends Parameters> = P extends readonly unknown[] ? P : [P];

/** A statement of written SQL. SQLite compiles it when it first runs. A repository may offer a field of it as a method. */
export class Statement<P extends Parameters, Row> {
  readonly #compile: () => Database.Statement<unknown[], unknown>;
  readonly #decode: ((row: unknown) => Row) | undefined;
  #compiled: Database.Statement<unknown[], unknown> | undefined;

  constructor(compile: () => Database.Statement<unknown[], unknown>, decode?: (row: unknown) => Row) {
    this.#compile = compile;
    this.#decode = decode;
  }

  /** Returns this statement with each row as the value of its first column, not decoded. */
  pluck(): Statement<P, Row> {
    return new Statement(() => this.#compile().pluck());
  }

  /** Returns this statement with each row as a list of values, not decoded. */
  raw(): Statement<P, Row> {
    return new Statement(() => this.#compile().raw());
  }

  /** Returns this statement with another value for each row. */
  map<Value>(change: (row: Row) => Value): Statement<P, Value> {
    return new Statement(this.#compile, (row) => change(this.#decode === undefined ? (row as Row) : this.#decode(row)));
  }

  readonly run = (...parameters: Arguments<P>): Database.RunResult => this.#statement().run(...parameters);

  readonly get = (...parameters: Arguments<P>): Row | undefined => {
    const row = this.#statement().get(...parameters);
    return row === undefined || this.#decode === undefined ? (row as Row | undefined) : this.#decode(row);
  };

  /** Returns the row of a query that always has one. */
  readonly one = (...parameters: Arguments<P>): Row => this.get(...parameters)!;

  readonly all = (...parameters: Arguments<P>): Row[] => {
    const rows = this.#statement().all(...parameters);
    return this.#decode === undefined ? (rows as Row[]) : rows.map(this.#decode);
  };

  /** Returns the rows for a list, which the statement reads as JSON. */
  readonly allOf = (list: readonly number[]): Row[] => this.all(...([JSON.stringify(list)] as unknown as Arguments<P>));

  /** Returns the rows one by one, not decoded. */
  readonly iterate = (...parameters: Arguments<P>): IterableIterator<Row> =>
    this.#statement().iterate(...parameters) as IterableIterator<Row>;

  #statement(): Database.Statement<unknown[], unknown> {
    this.#compiled ??= this.#compile();
    return this.#compiled;
  }
}

/** A template tag that makes statements of a connection. Values of `Columns` in the template are decoded. */
export type StatementTag = <P extends Parameters = [], Row = never>(
  parts: TemplateStringsArray,
  ...values: readonly (string | number | Columns<unknown>)[]
) => Statement<P, Row>;

export function statementTag(client: Database.Database): StatementTag {
  return <P extends Parameters, Row>(
    parts: TemplateStringsArray,
    ...values: readonly (string | number | Columns<unknown>)[]
  ) =>
    new Statement<P, Row>(
      () => client.prepare(String.raw({ raw: parts }, ...values)),
      decoder(values.flatMap((value) => (value instanceof Columns ? value.coded : []))),
    );
}

/** Decodes the values of some columns in place: booleans, JSON, vectors. */
function decoder<Row>(coded: readonly NamedColumn[]): ((row: unknown) => Row) | undefined {
  if (coded.length === 0) return undefined;
  return (row) => {
    const values = row as Record<string, unknown>;
    for (const [key, column] of coded) {
      if (values[key] !== null) values[key] = column.mapFromDriverValue(values[key]);
    }
    return row as Row;
  };
}

/** A column with its name in the schema. */
type NamedColumn = readonly [key: string, column: Column];

/**
 * Columns of a table. In a template literal they are a list for SELECT that gives each column its name in the schema:
 * `id, session_id AS sessionId`.
 */
export class Columns<Row> {
  readonly #table: SQLiteTable;
  readonly #columns: readonly NamedColumn[];
  readonly #alias: string;

  constructor(table: SQLiteTable, keys: readonly string[], alias = "") {
    const known: Record<string, Column> = getTableColumns(table);
    this.#table = table;
    this.#columns = keys.map((key) => [key, known[key]!]);
    this.#alias = alias;
  }

  /** The columns that SQLite stores as other values than the schema says. */
  get coded(): NamedColumn[] {
    const { mapFromDriverValue } = Column.prototype;
    return this.#columns.filter(([, column]) => column.mapFromDriverValue !== mapFromDriverValue);
  }

  /** Returns these columns for a statement that calls the table `alias`. */
  of(alias: string): Columns<Row> {
    return new Columns(
      this.#table,
      this.#columns.map(([key]) => key),
      `${alias}.`,
    );
  }

  without<K extends keyof Row & string>(...keys: readonly K[]): Columns<Omit<Row, K>> {
    const others = this.#columns.map(([key]) => key).filter((key) => !keys.includes(key as K));
    return new Columns(this.#table, others, this.#alias);
  }

  toString(): string {
    const one = ([key, { name }]: NamedColumn): string => this.#alias + (name === key ? name : `${name} AS ${key}`);
    return this.#columns.map(one).join(", ");
  }

  /** An INSERT that takes a value of each column by its name in the schema. */
  insert(): string {
    const names = this.#columns.map(([, { name }]) => name);
    return `INSERT INTO ${getTableName(this.#table)} (${names}) VALUES (${this.#columns.map(([key]) => `@${key}`)})`;
  }

  /** An INSERT that overwrites the row with the same first column, if there is one. It never changes `fixed` columns. */
  upsert(...fixed: (keyof Row)[]): string {
    const [[, primary], ...others] = this.#columns as [NamedColumn, ...NamedColumn[]];
    const changing = others.filter(([key]) => !fixed.includes(key as keyof Row));
    const updates = changing.map(([, { name }]) => `${name} = excluded.${name}`);
    return `${this.insert()} ON CONFLICT (${primary.name}) DO UPDATE SET ${updates}`;
  }
}

/** The type of a row with these columns. */
export type RowOf<C> = C extends Columns<infer Row> ? Row : never;

/** @param keys  Names of columns in the schema. All columns unless given. */
export function columns<T extends SQLiteTable, K extends keyof T["$inferSelect"] & string>(
  table: T,
  ...keys: readonly K[]
): Columns<Pick<T["$inferSelect"], K>> {
  return new Columns(table, keys.length > 0 ? keys : Object.keys(getTableColumns(table)));
}

/** A condition for a drizzle query. A list passed as JSON may be longer than SQLite allows parameters. */
export function isAnyOf(column: Column, values: readonly (number | string)[]): SQL {
  return sql`${column} in (select value from json_each(${JSON.stringify(values)}))`;
}
