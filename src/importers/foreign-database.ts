import { statSync } from "node:fs";
import Database from "better-sqlite3";
import { checkDriver } from "../core/driver.ts";
import { StoreError } from "../core/errors.ts";
import { Breather } from "./breather.ts";
import type { ImportEvent, ImportFile } from "./importer.ts";
import { isObject, type JsonObject, LINE_BYTES_MAX, parseJson } from "./lines.ts";
import { stringOf } from "./values.ts";

export interface DatabaseFile {
  path: string;
  isFinished: boolean | undefined;
  fingerprints: ImportFile["fingerprints"] | undefined;
}

export interface TableShape {
  /** The first of them identifies a row. */
  required: readonly [string, ...string[]];
  /** Columns that some versions lack. */
  others?: readonly string[];
  /** A column with long values. `rows` leaves it out, and `stored` reads it for one row. */
  content?: string;
  /** True if some versions lack the table. It then has no rows. */
  isOptional?: boolean;
}

export interface DatabaseFormat<Table extends string> {
  tables: Readonly<Record<Table, TableShape>>;
  eventsIn(database: ForeignDatabase<Table>, file: DatabaseFile): AsyncGenerator<ImportEvent>;
}

/** A row of a table, and the bytes of its content. */
export type Row = Record<string, string | number | null> & { rowid: number; byteLength: number };

export type StoredRow = { id: unknown; content: unknown } | { id: unknown; problem: string };

/**
 * Reads the database of another program without changing it.
 *
 * The file may be damaged or hostile, and SQLite does not return from a query before its next row. So a query only reads a table
 * in the order of its rows, or one row. It neither sorts nor filters, so that it needs no temporary file. Views and computed
 * columns are refused. A table in which row ids do not increase, or whose texts are longer than the file, is damaged. Reading a
 * damaged schema may never end. This class cannot notice that, so it runs in a process that then ends itself: `database-process.ts`.
 */
export class ForeignDatabase<Table extends string> {
  readonly #path: string;
  readonly #database: Database.Database;
  readonly #byteLength: number;
  readonly #shapes: Readonly<Record<Table, TableShape>>;
  readonly #columns = new Map<Table, string[]>();
  readonly #statements = new Map<string, Database.Statement>();
  readonly #breather = new Breather(undefined);
  /** The first damage that was found. Rows may be missing because of it. */
  damage: StoreError | undefined;

  /** @throws {StoreError} `IMPORT_UNREADABLE` if it cannot be opened or has no tables of these shapes. */
  constructor(path: string, shapes: Readonly<Record<Table, TableShape>>) {
    this.#path = path;
    this.#shapes = shapes;
    let database: Database.Database | undefined;
    try {
      checkDriver(Database);
      database = new Database(path, { readonly: true, fileMustExist: true });
      this.#database = database;
      database.pragma("trusted_schema = OFF");
      database.pragma("temp_store = MEMORY");
      const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
      this.#byteLength = statSync(path).size + (log?.size ?? 0);
      for (const table of Object.keys(shapes) as Table[]) {
        const columns = columnsIn(database, table, shapes[table]);
        if (columns !== undefined) this.#columns.set(table, columns);
      }
    } catch (error) {
      database?.close();
      throw unreadable(path, error);
    }
  }

  close(): void {
    this.#database.close();
  }

  hasColumn(table: Table, column: string): boolean {
    return this.#columns.get(table)?.includes(column) ?? false;
  }

  /** Interrupts long work, so that the process can reply. */
  breathe(): Promise<void> {
    return this.#breather.breathe();
  }

  /** Yields the readable rows of a table, without their content. Rows on a damaged page are skipped. */
  async *rows(table: Table): AsyncGenerator<Row> {
    const { content } = this.#shapes[table];
    const columns = this.#columns.get(table)?.filter((column) => column !== content);
    if (columns === undefined) return;
    const size = content === undefined ? "0" : `octet_length(${content})`;
    const select = `SELECT rowid AS rowid, ${size} AS byteLength, ${columns.map(bounded)} FROM ${table} NOT INDEXED WHERE rowid > @from ORDER BY rowid`;
    let from = 0;
    let byteLength = 0;
    for (let gap = 1; Number.isSafeInteger(from); gap = Math.ceil(gap * 1.25)) {
      try {
        for (const row of this.#prepare(select).iterate({ from, max: this.#byteLength }) as Iterable<Row>) {
          byteLength += row.byteLength;
          if (row.rowid <= from || byteLength > this.#byteLength) {
            throw unreadable(this.#path, new Error(`the table ${table} has more rows than the file can hold`));
          }
          from = row.rowid;
          gap = 1;
          yield row;
          await this.#breather.breathe();
        }
        return;
      } catch (error) {
        if (!isDamage(error)) throw StoreError.is(error) ? error : unreadable(this.#path, error);
        this.damage ??= unreadable(this.#path, error);
        from += gap;
      }
    }
  }

  /**
   * Returns the content of a row that `rows` listed.
   *
   * @param owner  If the row was deleted since, its row id may have been given to a row of another owner. That row is not returned.
   */
  stored(table: Table, rowid: number, owner: { column: string; value: unknown }): StoredRow {
    const { required, content } = this.#shapes[table];
    const select = `SELECT ${required[0]} AS id, ${bounded(content!)} FROM ${table} NOT INDEXED WHERE rowid = @rowid AND ${owner.column} = @owner`;
    try {
      const max = Math.min(this.#byteLength, LINE_BYTES_MAX);
      const found = this.#prepare(select).get({ rowid, owner: owner.value, max }) as JsonObject | undefined;
      return found === undefined
        ? { id: rowid, problem: "deleted meanwhile" }
        : { id: found.id, content: found[content!] };
    } catch (error) {
      return { id: rowid, problem: (error as Error).message };
    }
  }

  #prepare(sql: string): Database.Statement {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Returns an expression for a column that is null if its value is longer than `max`, so that nothing longer is read. */
function bounded(column: string): string {
  return `CASE WHEN octet_length(${column}) <= @max THEN ${column} END AS ${column}`;
}

/** Returns the columns of a table that are read. @throws {Error} if it is no plain table with the required columns. */
function columnsIn(
  database: Database.Database,
  table: string,
  { required, others = [], isOptional }: TableShape,
): string[] | undefined {
  const tables = database.pragma(`table_list(${table})`) as { schema: string; type: string }[];
  const columns = database.pragma(`table_xinfo(${table})`) as { name: string; hidden: number }[];
  const stored = new Set(columns.filter(({ hidden }) => hidden === 0).map(({ name }) => name));
  const isPlain = tables.some(({ schema, type }) => schema === "main" && type === "table");
  // A column of this name would hide the real row ids.
  const hidesRowid = columns.some(({ name }) => name.toLowerCase() === "rowid");
  if (!isPlain || hidesRowid || !required.every((name) => stored.has(name))) {
    if (isOptional) return undefined;
    throw new Error(`it has no table ${table} as the program makes it`);
  }
  return [...required, ...others.filter((name) => stored.has(name))];
}

/** Returns true for an error because bytes of the file are damaged. Other rows may be readable. */
function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|IOERR)/.test(String((error as { code?: unknown }).code));
}

/** Returns the JSON object in the content of a row, or the reason why there is none. */
export function objectIn(content: unknown): JsonObject | string {
  const text = Buffer.isBuffer(content) ? content.toString("utf8") : content;
  if (typeof text !== "string") return "no JSON";
  const parsed = parseJson(text);
  if ("problem" in parsed) return parsed.problem;
  return isObject(parsed.value) ? parsed.value : "expected a JSON object";
}

function unreadable(path: string, error: unknown): StoreError {
  const reason = stringOf((error as Error).message) ?? "it cannot be opened";
  return new StoreError("IMPORT_UNREADABLE", { path, reason }, { cause: error });
}
