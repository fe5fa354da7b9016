import type { JsonValue } from "../core/message.ts";
import type { DatabaseFile, ForeignDatabase, Row } from "./foreign-database.ts";
import type { ImportEvent } from "./importer.ts";
import { type DamagedLine, type JsonObject, parseJson } from "./lines.ts";
import { isNotYet } from "./message-event.ts";

/** A message, with its content as JSON. Its line is the row id. */
export interface StoredJson {
  line: number;
  row: Row;
  content: JsonValue;
}

/**
 * Yields the events of a database with a table `sessions`, which may name the session that started one in `parent_session_id`, and a
 * table `messages`, which names its session in `session_id`. The content of its messages is JSON.
 */
export async function* eventsOfSessions(
  database: ForeignDatabase<"sessions" | "messages">,
  file: DatabaseFile,
  read: (session: JsonObject, messages: AsyncIterable<StoredJson | DamagedLine>) => AsyncIterable<ImportEvent>,
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
    yield* changedSession(file, String(row.id), fingerprint, () => read(row, contentsOf(database, messages)));
  }
}

async function* contentsOf(
  database: ForeignDatabase<"sessions" | "messages">,
  rows: readonly Row[],
): AsyncGenerator<StoredJson | DamagedLine> {
  for (const row of rows) {
    await database.breathe();
    const { id, rowid: line } = row;
    const stored = database.stored("messages", line, { column: "id", value: id });
    const parsed = "problem" in stored ? stored : parseJson(String(stored.content));
    if ("problem" in parsed) yield { line, problem: `message ${id}: ${parsed.problem}` };
    else yield { line, row, content: parsed.value };
  }
}

/**
 * Yields the events of one session of a database, or nothing if it is unchanged. While the database is followed, unfinished messages
 * give no warnings, because they will come later.
 *
 * @param fingerprint  Changes when something is added to the session, or grows. Undefined if that cannot be told.
 */
export async function* changedSession(
  { fingerprints, isFinished }: DatabaseFile,
  id: string,
  fingerprint: string | undefined,
  read: () => AsyncIterable<ImportEvent>,
): AsyncGenerator<ImportEvent> {
  const known = fingerprints?.get(id);
  // A session with an unfinished message is read again when the database is finished.
  const fingerprintHolding = `${fingerprint} holding`;
  if (known !== undefined && (known === fingerprint || (known === fingerprintHolding && !isFinished))) return;
  let isHolding = false;
  for await (const event of read()) {
    // The warnings of a session that cannot be understood say why. The other sessions are read.
    if (event.kind === "misread") continue;
    const isHeld = event.kind === "warning" && isNotYet(event);
    isHolding ||= isHeld;
    if (!isHeld || fingerprints === undefined) yield event;
  }
  if (fingerprint !== undefined) fingerprints?.set(id, isHolding ? fingerprintHolding : fingerprint);
}

/** Returns sessions in the same order, but each after the one that started it. A cycle of parents ends where it began. */
export function parentsFirst<Session>(
  sessions: readonly Session[],
  idOf: (session: Session) => unknown,
  parentOf: (session: Session) => unknown,
): Session[] {
  const waiting = new Map(sessions.map((session) => [idOf(session), session]));
  const ordered: Session[] = [];
  for (const session of sessions) {
    const chain: Session[] = [];
    for (let next: Session | undefined = session; next !== undefined; next = waiting.get(parentOf(next))) {
      if (!waiting.delete(idOf(next))) break;
      chain.push(next);
    }
    ordered.push(...chain.reverse());
  }
  return ordered;
}
