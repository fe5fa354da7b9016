import { changedSession, parentsFirst } from "../database-sessions.ts";
import {
  type DatabaseFile,
  type DatabaseFormat,
  type ForeignDatabase,
  objectIn,
  type Row,
} from "../foreign-database.ts";
import type { ImportEvent } from "../importer.ts";
import type { DamagedLine, JsonObject } from "../lines.ts";
import type { StoredMessage } from "./message.ts";
import { SessionTranslator } from "./session.ts";

const TABLES = {
  session: {
    required: ["id"],
    others: ["parent_id", "directory", "title", "time_created", "version", "share_url"],
  },
  message: { required: ["id", "session_id", "data"], others: ["time_created", "time_updated"], content: "data" },
  part: { required: ["id", "message_id", "session_id", "data"], others: ["time_updated"], content: "data" },
} as const;

interface StoredSession {
  row: JsonObject;
  messages: Row[];
  /** Changes when a message is added or grows. Undefined if the database is of a version without times. */
  fingerprint: string | undefined;
}

type OpencodeTables = ForeignDatabase<keyof typeof TABLES>;

export const opencodeDatabase: DatabaseFormat<keyof typeof TABLES> = { tables: TABLES, eventsIn };

async function* eventsIn(database: OpencodeTables, file: DatabaseFile): AsyncGenerator<ImportEvent> {
  const partIds = new Map<unknown, number[]>();
  for (const session of await sessionsIn(database, partIds)) {
    const { row, fingerprint } = session;
    yield* changedSession(file, String(row.id), fingerprint, () =>
      new SessionTranslator(file, row).translate(messagesIn(database, session, partIds)),
    );
  }
}

/** Returns the sessions by time, but each after the one that started it. */
async function sessionsIn(database: OpencodeTables, partIds: Map<unknown, number[]>): Promise<StoredSession[]> {
  const hasTimes = (["message", "part"] as const).every((table) => database.hasColumn(table, "time_updated"));
  const sessions = new Map<unknown, StoredSession & { sums: Record<"message" | "part", number[]> }>();
  for await (const { rowid: _, byteLength: _none, ...row } of database.rows("session")) {
    sessions.set(row.id, { row, messages: [], fingerprint: undefined, sums: { message: [], part: [] } });
  }
  for (const table of ["message", "part"] as const) {
    for await (const row of database.rows(table)) {
      const session = sessions.get(row.session_id);
      if (session !== undefined) {
        const [count = 0, , updated = 0, bytes = 0] = session.sums[table];
        const updatedAt = Math.max(updated, Number(row.time_updated ?? 0));
        session.sums[table] = [count + 1, row.rowid, updatedAt, bytes + row.byteLength];
      }
      if (table === "message") session?.messages.push(row);
      else {
        const rowids = partIds.get(row.message_id);
        if (rowids === undefined) partIds.set(row.message_id, [row.rowid]);
        else rowids.push(row.rowid);
      }
    }
  }
  for (const session of sessions.values()) {
    session.messages.sort((a, b) => compare(a.time_created, b.time_created) || compare(a.id, b.id));
    if (hasTimes) session.fingerprint = JSON.stringify(session.sums);
  }
  return parentsFirst(
    [...sessions.values()],
    ({ row }) => row.id,
    ({ row }) => row.parent_id,
  );
}

/** Yields the messages of a session in order, or a problem for each row that cannot be read. */
async function* messagesIn(
  database: OpencodeTables,
  { messages }: StoredSession,
  partIds: ReadonlyMap<unknown, number[]>,
): AsyncGenerator<StoredMessage | DamagedLine> {
  for (const { rowid: line, id } of messages) {
    await database.breathe();
    const stored = database.stored("message", line, { column: "id", value: id });
    const info = "problem" in stored ? stored.problem : objectIn(stored.content);
    if (typeof info === "string") {
      yield { line, problem: `message ${id}: ${info}` };
      continue;
    }
    const owner = { column: "message_id", value: id };
    const parts = (partIds.get(id) ?? []).map((rowid) => ({ rowid, ...database.stored("part", rowid, owner) }));
    const read: JsonObject[] = [];
    for (const part of parts.sort((a, b) => compare(a.id, b.id))) {
      const value = "problem" in part ? part.problem : objectIn(part.content);
      if (typeof value === "string") yield { line: part.rowid, problem: `part ${part.id}: ${value}` };
      else read.push(value);
    }
    yield { line, id: String(id), info, parts: read };
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
