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
  readonly #database: Database.Database;

  /** @throws {StoreError} `IMPORT_UNREADABLE` for what is no such database, or cannot be opened. */
  constructor(path: string) {
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

  /** Rows of the sessions, each after the one that started it, otherwise by their time. */
  sessions(): JsonObject[] {
    const rows = this.#database.prepare("SELECT * FROM session ORDER BY time_created, id").all() as JsonObject[];
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

  /** The messages of a session in their order; what cannot be read of them as a problem. */
  *messages(sessionId: string): Generator<({ row: number } & StoredMessage) | RowProblem> {
    const ids = this.#database
      .prepare("SELECT rowid AS row, id FROM message WHERE session_id = ? ORDER BY time_created, id")
      .all(sessionId) as { row: number; id: string }[];
    const message = this.#database.prepare("SELECT data FROM message WHERE id = ?").pluck();
    const parts = this.#database.prepare("SELECT rowid AS row, id, data FROM part WHERE message_id = ? ORDER BY id");
    for (const { row, id } of ids) {
      const info = objectIn(message.get(id));
      if (typeof info === "string") {
        yield { row, problem: `message ${id}: ${info}` };
        continue;
      }
      const read: JsonObject[] = [];
      for (const part of parts.all(id) as { row: number; id: string; data: unknown }[]) {
        const value = objectIn(part.data);
        if (typeof value === "string") yield { row: part.row, problem: `part ${part.id}: ${value}` };
        else read.push(value);
      }
      yield { row, id, info, parts: read };
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
