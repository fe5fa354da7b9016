import { eventsOfSessions, type StoredJson } from "../database-sessions.ts";
import type { DatabaseFormat } from "../foreign-database.ts";
import { type DamagedLine, valueIn } from "../lines.ts";
import { objectOf } from "../values.ts";
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

export const gooseDatabase: DatabaseFormat<keyof typeof TABLES> = {
  tables: TABLES,
  eventsIn: (database, file) =>
    eventsOfSessions(database, file, (session, messages) =>
      new GooseTranslator(file, session).translate(messagesOf(messages)),
    ),
};

async function* messagesOf(
  stored: AsyncIterable<StoredJson | DamagedLine>,
): AsyncGenerator<GooseMessage | DamagedLine> {
  for await (const found of stored) {
    if ("problem" in found) {
      yield found;
      continue;
    }
    const { role, created_timestamp, metadata_json } = found.row;
    const metadata = objectOf(valueIn(String(metadata_json)));
    const value = { role: role!, created: created_timestamp ?? null, content: found.content, metadata };
    yield { line: found.line, value };
  }
}
