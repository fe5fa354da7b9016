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
import { parseJson } from "../lines.ts";
import { type GooseMessage, GooseTranslator } from "./session.ts";

const TABLES = {
  sessions: {
    required: ["id", "working_dir"],
    others: ["name", "description", "session_type", "parent_session_id", "provider_name"],
  },
  messages: {
    required: ["id", "session_id", "role", "content_json"],
    others: ["created_timestamp", "metadata_json"],
    content: "content_json",
  },
} as const;

export const gooseDatabase: DatabaseFormat<keyof typeof TABLES> = { tables: TABLES, eventsIn };

async function* eventsIn(
  database: ForeignDatabase<keyof typeof TABLES>,
  file: DatabaseFile,
): AsyncGenerator<ImportEvent> {
  const sessions = new Map<unknown, { row: JsonObject; messages: Row[]; byteLength: number }>();
  for await (const { rowid: _, byteLength: _none, ...row } of database.rows("sessions")) {
    sessions.set(row.id, { row, messages: [], byteLength: 0 });
  }
  for await (const message of database.rows("messages")) {
    const session = sessions.get(message.session_id);
    session?.messages.push(message);
    if (session !== undefined) session.byteLength += message.byteLength;
  }
  const ordered = parentsFirst(
    [...sessions.values()],
    ({ row }) => row.id,
    ({ row }) => row.parent_session_id,
  );
  for (const { row, messages, byteLength } of ordered) {
    const fingerprint = [messages.length, messages.at(-1)?.rowid, byteLength].join();
    yield* changedSession(file, String(row.id), fingerprint, () =>
      new GooseTranslator(file, row).translate(messagesIn(database, messages)),
    );
  }
}

async function* messagesIn(
  database: ForeignDatabase<keyof typeof TABLES>,
  rows: readonly Row[],
): AsyncGenerator<GooseMessage | DamagedLine> {
  for (const { rowid: line, id, role, created_timestamp, metadata_json } of rows) {
    await database.breathe();
    const stored = database.stored("messages", line, { column: "id", value: id });
    const parsed = "problem" in stored ? stored : parseJson(String(stored.content));
    if ("problem" in parsed) {
      yield { line, problem: `message ${id}: ${parsed.problem}` };
      continue;
    }
    const metadata = objectIn(metadata_json);
    const about = typeof metadata === "string" ? {} : { metadata };
    yield { line, value: { role: role!, created: created_timestamp ?? null, content: parsed.value, ...about } };
  }
}
