import type { StoredJson } from "../database-sessions.ts";
import { eventsOfSessions } from "../database-sessions.ts";
import { type DatabaseFormat, objectIn } from "../foreign-database.ts";
import type { DamagedLine } from "../lines.ts";
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
    const { rowid: line, role, created_timestamp, metadata_json } = found.row;
    const metadata = objectIn(metadata_json);
    const about = typeof metadata === "string" ? {} : { metadata };
    yield { line, value: { role: role!, created: created_timestamp ?? null, content: found.content, ...about } };
  }
}
