import Database from "better-sqlite3";
import { checkDriver } from "../../core/driver.ts";
import { StoreError } from "../../core/errors.ts";
import { type DamagedLine, isObject, type JsonObject, parseJson } from "../lines.ts";
import { stringOf } from "../values.ts";
import type { StoredMessage } from "./message.ts";

export function isOpencode(path: string): boolean {
  let database: Database.Database | undefined;
  try {
    checkDriver(Database);
    database = new Database(path, { readonly: true, fileMustExist: true });
    const columns = "SELECT count(*) FROM pragma_table_info(?) WHERE name IN ('message_id', 'session_id', 'data')";
    return database.prepare(columns).pluck().get("part") === 3;
  } catch {
    return false;
  } finally {
    database?.close();
  }
}

export class OpencodeDatabase {
  readonly #path: string;
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();

  /** @throws {StoreError} `IMPORT_UNREADABLE` if it cannot be opened or is not an opencode database. */
  constructor(path: string) {
    this.#path = path;
    try {
      checkDriver(Database);
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
   * Returns the rows of the sessions by time, but each after the session that started it.
   *
   * @throws {StoreError} `IMPORT_UNREADABLE` if the database is damaged.
   */
  sessions(): JsonObject[] {
    const rows = this.#rows<JsonObject>("SELECT * FROM session ORDER BY time_created, id");
    const waiting = new Map(rows.map((row) => [row.id, row]));
    const ordered: JsonObject[] = [];
    const visit = (row: JsonObject | undefined): void => {
      // Each row is deleted before its parent is visited, so that a cycle of parents ends.
      if (row === undefined || !waiting.delete(row.id)) return;
      visit(waiting.get(row.parent_id as string));
      ordered.push(row);
    };
    for (const row of rows) visit(row);
    return ordered;
  }

  /**
   * Returns a fingerprint of each session, which changes when a message is added or grows. It holds only counts, times and
   * lengths. The map is empty if the database is of a version without times.
   */
  fingerprints(): Map<string, string> {
    const fingerprints = new Map<string, string>();
    try {
      for (const table of ["message", "part"]) {
        const sums = `SELECT session_id AS id, json_array(count(*), max(rowid), max(time_updated), sum(octet_length(data))) AS fingerprint FROM ${table} GROUP BY session_id`;
        for (const { id, fingerprint } of this.#rows<{ id: string; fingerprint: string }>(sums)) {
          fingerprints.set(id, (fingerprints.get(id) ?? "") + fingerprint);
        }
      }
    } catch (error) {
      if (!StoreError.is(error, "IMPORT_UNREADABLE")) throw error;
      return new Map();
    }
    return fingerprints;
  }

  /**
   * Returns the messages of a session in order, or a problem for each row that cannot be read.
   *
   * @throws {StoreError} `IMPORT_UNREADABLE` if the database is so damaged that they cannot be listed.
   */
  *messages(sessionId: string): Generator<StoredMessage | DamagedLine> {
    const list = "SELECT rowid AS line, id FROM message WHERE session_id = ? ORDER BY time_created, id";
    for (const { line, id } of this.#rows<{ line: number; id: string }>(list, sessionId)) {
      let found: { data: unknown }[];
      let parts: { line: number; id: string; data: unknown }[];
      try {
        found = this.#rows("SELECT data FROM message WHERE id = ?", id);
        parts = this.#rows("SELECT rowid AS line, id, data FROM part WHERE message_id = ? ORDER BY id", id);
      } catch (error) {
        yield { line, problem: `message ${id}: ${((error as Error).cause as Error).message}` };
        continue;
      }
      const info = objectIn(found[0]?.data);
      if (typeof info === "string") {
        yield { line, problem: `message ${id}: ${info}` };
        continue;
      }
      const read: JsonObject[] = [];
      for (const part of parts) {
        const value = objectIn(part.data);
        if (typeof value === "string") yield { line: part.line, problem: `part ${part.id}: ${value}` };
        else read.push(value);
      }
      yield { line, id, info, parts: read };
    }
  }

  #rows<Row>(sql: string, ...values: string[]): Row[] {
    try {
      const statement = this.#statements.get(sql) ?? this.#database.prepare(sql);
      this.#statements.set(sql, statement);
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
