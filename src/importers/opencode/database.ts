import { statSync } from "node:fs";
import Database from "better-sqlite3";
import { checkDriver } from "../../core/driver.ts";
import { StoreError } from "../../core/errors.ts";
import { Breather } from "../breather.ts";
import { type DamagedLine, isObject, type JsonObject, LINE_BYTES_MAX, parseJson } from "../lines.ts";
import { stringOf } from "../values.ts";
import type { StoredMessage } from "./message.ts";

/** The columns that are read. A table may lack those that are not `required`. */
const COLUMNS = {
  session: { required: ["id"], others: ["parent_id", "directory", "title", "time_created", "version", "share_url"] },
  message: { required: ["id", "session_id", "data"], others: ["time_created", "time_updated"] },
  part: { required: ["id", "message_id", "session_id", "data"], others: ["time_updated"] },
};
type Table = keyof typeof COLUMNS;

/** A row of a table, and the bytes of its `data`. */
type Row = Record<string, string | number | null> & { rowid: number; byteLength: number };

/** A session, with what is needed to find its messages. */
interface StoredSession {
  row: JsonObject;
  messages: Row[];
  /** Changes when a message is added or grows. Undefined if the database is of a version without times. */
  fingerprint: string | undefined;
}

export function isOpencode(path: string): boolean {
  try {
    new OpencodeDatabase(path).close();
    return true;
  } catch {
    return false;
  }
}

/**
 * Reads an opencode database without changing it.
 *
 * The file may be damaged or hostile, and SQLite does not return from a query before its next row. So a query only reads a table
 * in the order of its rows, or one row. It neither sorts nor filters, so that it needs no temporary file. Views and computed
 * columns are refused. A table in which row ids do not increase, or whose texts are longer than the file, is damaged. A schema
 * that never ends is not noticed here: `database-process.ts` ends.
 */
export class OpencodeDatabase {
  readonly #path: string;
  readonly #database: Database.Database;
  readonly #byteLength: number;
  readonly #hasTimes: boolean;
  readonly #columns = new Map<Table, string[]>();
  readonly #statements = new Map<string, Database.Statement>();
  readonly #partIds = new Map<unknown, number[]>();
  readonly #breather = new Breather(undefined);
  /** The damage because of which rows may be missing. */
  damage: StoreError | undefined;

  /** @throws {StoreError} `IMPORT_UNREADABLE` if it cannot be opened or is not an opencode database. */
  constructor(path: string) {
    this.#path = path;
    let database: Database.Database | undefined;
    try {
      checkDriver(Database);
      database = new Database(path, { readonly: true, fileMustExist: true });
      this.#database = database;
      database.pragma("trusted_schema = OFF");
      database.pragma("temp_store = MEMORY");
      const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
      this.#byteLength = statSync(path).size + (log?.size ?? 0);
      for (const table of ["session", "message", "part"] as const) this.#columns.set(table, columnsIn(database, table));
      this.#hasTimes = (["message", "part"] as const).every((table) =>
        this.#columns.get(table)!.includes("time_updated"),
      );
    } catch (error) {
      database?.close();
      throw unreadable(path, error);
    }
  }

  close(): void {
    this.#database.close();
  }

  /** Returns the sessions by time, but each after the one that started it. Sets `damage` if some may be missing. */
  async sessions(): Promise<StoredSession[]> {
    const sessions = new Map<unknown, StoredSession & { sums: Record<"message" | "part", number[]> }>();
    for await (const { rowid: _, byteLength: _none, ...row } of this.#rows("session")) {
      sessions.set(row.id, { row, messages: [], fingerprint: undefined, sums: { message: [], part: [] } });
    }
    for (const table of ["message", "part"] as const) {
      for await (const row of this.#rows(table)) {
        const session = sessions.get(row.session_id);
        if (session !== undefined) {
          const [count = 0, , updated = 0, bytes = 0] = session.sums[table];
          const updatedAt = Math.max(updated, Number(row.time_updated ?? 0));
          session.sums[table] = [count + 1, row.rowid, updatedAt, bytes + row.byteLength];
        }
        if (table === "message") session?.messages.push(row);
        else {
          const rowids = this.#partIds.get(row.message_id);
          if (rowids === undefined) this.#partIds.set(row.message_id, [row.rowid]);
          else rowids.push(row.rowid);
        }
      }
    }
    for (const session of sessions.values()) {
      session.messages.sort((a, b) => compare(a.time_created, b.time_created) || compare(a.id, b.id));
      if (this.#hasTimes) session.fingerprint = JSON.stringify(session.sums);
    }
    return parentsFirst([...sessions.values()]);
  }

  /** Returns the messages of a session in order, or a problem for each row that cannot be read. */
  async *messages({ messages }: StoredSession): AsyncGenerator<StoredMessage | DamagedLine> {
    for (const { rowid: line, id } of messages) {
      await this.#breather.breathe();
      const stored = this.#stored("message", line, id);
      const info = "problem" in stored ? stored.problem : objectIn(stored.data);
      if (typeof info === "string") {
        yield { line, problem: `message ${id}: ${info}` };
        continue;
      }
      const parts = (this.#partIds.get(id) ?? []).map((rowid) => ({ rowid, ...this.#stored("part", rowid, id) }));
      const read: JsonObject[] = [];
      for (const part of parts.sort((a, b) => compare(a.id, b.id))) {
        const value = "problem" in part ? part.problem : objectIn(part.data);
        if (typeof value === "string") yield { line: part.rowid, problem: `part ${part.id}: ${value}` };
        else read.push(value);
      }
      yield { line, id: String(id), info, parts: read };
    }
  }

  /** Yields the readable rows of a table. Rows on a damaged page are skipped. */
  async *#rows(table: Table): AsyncGenerator<Row> {
    const columns = this.#columns.get(table)!.filter((column) => column !== "data");
    const size = table === "session" ? "0" : "octet_length(data)";
    const select = `SELECT rowid, ${size} AS byteLength, ${columns.map(bounded)} FROM ${table} NOT INDEXED WHERE rowid > @from ORDER BY rowid`;
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

  /** Returns a row that was listed, unless it has been deleted since. Its number may then belong to another message. */
  #stored(
    table: "message" | "part",
    rowid: number,
    messageId: unknown,
  ): { id: unknown; data: unknown } | { id: unknown; problem: string } {
    const owner = table === "part" ? "message_id" : "id";
    const select = `SELECT id, ${bounded("data")} FROM ${table} NOT INDEXED WHERE rowid = @rowid AND ${owner} = @messageId`;
    try {
      const found = this.#prepare(select).get({ rowid, messageId, max: Math.min(this.#byteLength, LINE_BYTES_MAX) });
      return (found as { id: unknown; data: unknown } | undefined) ?? { id: rowid, problem: "deleted meanwhile" };
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
function columnsIn(database: Database.Database, table: Table): string[] {
  const { required, others } = COLUMNS[table];
  const tables = database.pragma(`table_list(${table})`) as { schema: string; type: string }[];
  const columns = database.pragma(`table_xinfo(${table})`) as { name: string; hidden: number }[];
  const stored = new Set(columns.filter(({ hidden }) => hidden === 0).map(({ name }) => name));
  const isPlain = tables.some(({ schema, type }) => schema === "main" && type === "table");
  // A column of this name would hide the real row ids.
  const hidesRowid = columns.some(({ name }) => name.toLowerCase() === "rowid");
  if (!isPlain || hidesRowid || !required.every((name) => stored.has(name))) {
    throw new Error(`it has no table ${table} as opencode makes it`);
  }
  return [...required, ...others.filter((name) => stored.has(name))];
}

/** Returns sessions in the same order, but each after the one that started it. A cycle of parents ends where it began. */
function parentsFirst(sessions: readonly StoredSession[]): StoredSession[] {
  const waiting = new Map(sessions.map((session) => [session.row.id, session]));
  const ordered: StoredSession[] = [];
  for (const session of sessions) {
    const chain: StoredSession[] = [];
    for (let next: StoredSession | undefined = session; next !== undefined; next = waiting.get(next.row.parent_id!)) {
      if (!waiting.delete(next.row.id!)) break;
      chain.push(next);
    }
    ordered.push(...chain.reverse());
  }
  return ordered;
}

/** Compares as SQLite's `ORDER BY` does: nothing, then numbers, then texts. */
function compare(a: unknown, b: unknown): number {
  const [rankA, rankB] = [rankOf(a), rankOf(b)];
  if (rankA !== rankB) return rankA - rankB;
  if ((a as string) < (b as string)) return -1;
  return (a as string) > (b as string) ? 1 : 0;
}

function rankOf(value: unknown): number {
  if (value === null || value === undefined) return 0;
  return typeof value === "number" ? 1 : 2;
}

/** Returns true for an error because of bytes of the file. Other rows may be readable. */
function isDamage(error: unknown): boolean {
  return /^SQLITE_(CORRUPT|IOERR)/.test(String((error as { code?: unknown }).code));
}

function objectIn(data: unknown): JsonObject | string {
  if (typeof data !== "string") return "no JSON";
  const parsed = parseJson(data);
  if ("problem" in parsed) return parsed.problem;
  return isObject(parsed.value) ? parsed.value : "expected a JSON object";
}

function unreadable(path: string, error: unknown): StoreError {
  const reason = stringOf((error as Error).message) ?? "it cannot be opened";
  return new StoreError("IMPORT_UNREADABLE", { path, reason }, { cause: error });
}
