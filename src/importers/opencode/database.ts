import type { StoreError } from "../../core/errors.ts";
import { parentsFirst } from "../database-sessions.ts";
import { ForeignDatabase, objectIn, type Row } from "../foreign-database.ts";
import type { DamagedLine, JsonObject } from "../lines.ts";
import type { StoredMessage } from "./message.ts";

const TABLES = {
  session: {
    required: ["id"],
    others: ["parent_id", "directory", "title", "time_created", "version", "share_url"],
  },
  message: { required: ["id", "session_id", "data"], others: ["time_created", "time_updated"], content: "data" },
  part: { required: ["id", "message_id", "session_id", "data"], others: ["time_updated"], content: "data" },
} as const;

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

/** Reads an opencode database without changing it. */
export class OpencodeDatabase {
  readonly #database: ForeignDatabase<keyof typeof TABLES>;
  readonly #hasTimes: boolean;
  readonly #partIds = new Map<unknown, number[]>();

  /** @throws {StoreError} `IMPORT_UNREADABLE` if it cannot be opened or is not an opencode database. */
  constructor(path: string) {
    this.#database = new ForeignDatabase(path, TABLES);
    this.#hasTimes = (["message", "part"] as const).every((table) => this.#database.hasColumn(table, "time_updated"));
  }

  /** The first damage that was found. Rows may be missing because of it. */
  get damage(): StoreError | undefined {
    return this.#database.damage;
  }

  close(): void {
    this.#database.close();
  }

  /** Returns the sessions by time, but each after the one that started it. Sets `damage` if some may be missing. */
  async sessions(): Promise<StoredSession[]> {
    const sessions = new Map<unknown, StoredSession & { sums: Record<"message" | "part", number[]> }>();
    for await (const { rowid: _, byteLength: _none, ...row } of this.#database.rows("session")) {
      sessions.set(row.id, { row, messages: [], fingerprint: undefined, sums: { message: [], part: [] } });
    }
    for (const table of ["message", "part"] as const) {
      for await (const row of this.#database.rows(table)) {
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
    return parentsFirst(
      [...sessions.values()],
      ({ row }) => row.id,
      ({ row }) => row.parent_id,
    );
  }

  /** Returns the messages of a session in order, or a problem for each row that cannot be read. */
  async *messages({ messages }: StoredSession): AsyncGenerator<StoredMessage | DamagedLine> {
    for (const { rowid: line, id } of messages) {
      await this.#database.breathe();
      const stored = this.#database.stored("message", line, { column: "id", value: id });
      const info = "problem" in stored ? stored.problem : objectIn(stored.content);
      if (typeof info === "string") {
        yield { line, problem: `message ${id}: ${info}` };
        continue;
      }
      const owner = { column: "message_id", value: id };
      const rowids = this.#partIds.get(id) ?? [];
      const parts = rowids.map((rowid) => ({ rowid, ...this.#database.stored("part", rowid, owner) }));
      const read: JsonObject[] = [];
      for (const part of parts.sort((a, b) => compare(a.id, b.id))) {
        const value = "problem" in part ? part.problem : objectIn(part.content);
        if (typeof value === "string") yield { line: part.rowid, problem: `part ${part.id}: ${value}` };
        else read.push(value);
      }
      yield { line, id: String(id), info, parts: read };
    }
  }
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
