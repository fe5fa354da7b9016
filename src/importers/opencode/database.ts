import Database from "better-sqlite3";
import { StoreError } from "../../core/errors.ts";
import { isObject, type JsonObject, parseJson } from "../lines.ts";
import { stringOf } from "../values.ts";
import type { StoredMessage } from "./message.ts";

/** A row that cannot be read. */
export interface RowProblem {
  row: number;
  problem: string;
}

/** Whether a database has the tables of opencode's. */
export function isOpencode(path: string): boolean {
  let database: Database.Database | undefined;
  try {
    database = new Database(path, { readonly: true, fileMustExist: true });
    const columns = "SELECT count(*) FROM pragma_table_info(?) WHERE name IN ('message_id', 'session_id', 'data')";
    return database.prepare(columns).pluck().get("part") === 3;
  } catch {
    return false;
  } finally {
    database?.close();
  }
}

/**
 * An opencode database, read without changing it. While opencode writes, each message is read whole; what comes later comes
 * with the next import.
 */
export class OpencodeDatabase {
  readonly #path: string;
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();

  /** @throws {StoreError} `IMPORT_UNREADABLE` for what is no such database, or cannot be opened. */
  constructor(path: string) {
    this.#path = path;
    try {
      this.#database = new Database(path, { readonly: true, fileMustExist: true });
      this.#database.prepare("SELECT id FROM session LIMIT 1").get();
    } catch (error) {
      throw unreadable(path, error);
    }
  }

  close(): void {
    this.#database.close();
  }

  /**
   * Rows of the sessions, each after the one that started it, otherwise by their time.
   *
   * @throws {StoreError} `IMPORT_UNREADABLE` where the database is damaged.
   */
  sessions(): JsonObject[] {
    const rows = this.#rows<JsonObject>("SELECT * FROM session ORDER BY time_created, id");
    const waiting = new Map(rows.map((row) => [row.id, row]));
    const ordered: JsonObject[] = [];
    const visit = (row: JsonObject | undefined): void => {
      // Taken out before its parent is visited: sessions that are each other's parents end here.
      if (row === undefined || !waiting.delete(row.id)) return;
      visit(waiting.get(row.parent_id as string));
      ordered.push(row);
    };
    for (const row of rows) visit(row);
    return ordered;
  }

  /**
   * What changes of each session when anything is said in it, or is said further: counts, times and lengths. Their texts are
   * not read for it.
   *
   * @returns nothing where the database is of a version that does not keep times.
   */
  looks(): Map<string, string> {
    const looks = new Map<string, string>();
    try {
      for (const table of ["message", "part"]) {
        const sums = `SELECT session_id AS id, json_array(count(*), max(rowid), max(time_updated), sum(octet_length(data))) AS look FROM ${table} GROUP BY session_id`;
        for (const { id, look } of this.#rows<{ id: string; look: string }>(sums)) {
          looks.set(id, (looks.get(id) ?? "") + look);
        }
      }
    } catch (error) {
      if (!StoreError.is(error, "IMPORT_UNREADABLE")) throw error;
      return new Map();
    }
    return looks;
  }

  /**
   * The messages of a session in their order; what cannot be read of them as a problem.
   *
   * @throws {StoreError} `IMPORT_UNREADABLE` where the database is so damaged that they cannot be listed.
   */
  *messages(sessionId: string): Generator<({ row: number } & StoredMessage) | RowProblem> {
    const list = "SELECT rowid AS row, id FROM message WHERE session_id = ? ORDER BY time_created, id";
    for (const { row, id } of this.#rows<{ row: number; id: string }>(list, sessionId)) {
      let found: { data: unknown }[];
      let parts: { row: number; id: string; data: unknown }[];
      try {
        found = this.#rows("SELECT data FROM message WHERE id = ?", id);
        parts = this.#rows("SELECT rowid AS row, id, data FROM part WHERE message_id = ? ORDER BY id", id);
      } catch (error) {
        yield { row, problem: `message ${id}: ${((error as Error).cause as Error).message}` };
        continue;
      }
      const info = objectIn(found[0]?.data);
      if (typeof info === "string") {
        yield { row, problem: `message ${id}: ${info}` };
        continue;
      }
      const read: JsonObject[] = [];
      for (const part of parts) {
        const value = objectIn(part.data);
        if (typeof value === "string") yield { row: part.row, problem: `part ${part.id}: ${value}` };
        else read.push(value);
      }
      yield { row, id, info, parts: read };
    }
  }

  #rows<Row>(sql: string, ...values: string[]): Row[] {
    try {
      let statement = this.#statements.get(sql);
      if (statement === undefined) {
        statement = this.#database.prepare(sql);
        this.#statements.set(sql, statement);
      }
      return statement.all(...values) as Row[];
    } catch (error) {
      throw unreadable(this.#path, error);
    }
  }
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
