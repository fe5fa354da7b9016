import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openStore, type Store, StoreError } from "../index.ts";
import { readingEmbedder, silentEmbedder } from "../session/embedder-choice.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { ContextAnswer } from "./api.ts";
import { contextAnswer } from "./context.ts";
import type { Query } from "./requests.ts";
import { isOfSession, sharedBy, sql } from "./sql.ts";

export type PastContextRequest = Query<"/api/context"> & { at: string };

/** A backup copies about this many messages in the time in which the rows of one session are copied for one. */
const BACKUP_FACTOR = 16;

/**
 * Returns the context of an earlier moment: what `render` returned when a message was the newest. The session is copied, and the
 * copy goes back. With a session of 100,000 messages, this takes some seconds.
 *
 * @param folder  An empty folder for the copy. Whoever made it removes it.
 * @throws {StoreError} `OPTION_INVALID` for a moment that the session does not have, and for one before a fork began; the errors of
 *   `render`.
 */
export async function pastContextAnswer(
  store: Store,
  { session, at, ...options }: PastContextRequest,
  folder: string,
): Promise<ContextAnswer> {
  const toSeq = seqOfMoment(store, session, at);
  if (options.scope === "project") {
    throw new StoreError("OPTION_INVALID", {
      option: "scope",
      expected: "session, because other sessions do not go back",
      actual: options.scope,
    });
  }
  const shared = sharedBy(store, session).at(-1);
  if (shared !== undefined && toSeq < shared.seqLast) {
    const expected = `a moment from seq ${shared.seqLast} on; earlier ones are those of session "${shared.sessionId}"`;
    throw new StoreError("OPTION_INVALID", { option: "at", expected, actual: at });
  }
  const path = join(folder, "copy.db");
  const [counts] = store.query("SELECT count(*) AS messages FROM messages");
  const isMuchOfStore = store.resume(session).info().messageCount * BACKUP_FACTOR > Number(counts!.messages);
  if (shared !== undefined || isMuchOfStore) await store.backup(path);
  else copySession(store, session, path, join(folder, "session.rows"));
  const copy = openStore(path, { embedder: embedderOf(store) });
  try {
    const { database, paths } = internalsOf(copy).repositories;
    // So that it can go back to before they began.
    const forkIds = database.read(() => paths.sharing(session, -1));
    if (forkIds.length > 0) copy.forget(forkIds);
    copy.resume(session).rewind({ toSeq });
    return contextAnswer(copy, { session, ...options });
  } finally {
    copy.close();
  }
}

function copySession(store: Store, session: string, path: string, rowsPath: string): void {
  writeLines(rowsPath, store.export({ rows: true, sessions: [session] }));
  const copy = openStore(path, { embedder: embedderOf(store) });
  try {
    const [imported] = internalsOf(copy).importRows(rowsPath);
    if (imported?.error) throw imported.error;
  } finally {
    copy.close();
  }
}

/** Returns the newest seq of a moment. @throws {StoreError} `OPTION_INVALID`, `SESSION_NOT_FOUND`. */
function seqOfMoment(store: Store, session: string, at: string): number {
  const { messageCount } = store.resume(session).info();
  const isPosition = at.startsWith("@");
  const number = Number(isPosition ? at.slice(1) : at);
  const [row] = store.query(
    isPosition
      ? sql`SELECT min(seq_end) - 1 AS seq FROM frontier_moves WHERE session_id = ${session} AND log_position >= ${number}`
      : sql`SELECT max(seq) AS newest FROM messages WHERE ${isOfSession(store, session)}`,
  );
  if (typeof row?.seq === "number") return row.seq;
  if (number <= Number(row?.newest ?? -1)) return number;
  const expected = isPosition
    ? "a log position of the session that a noted move of its frontier has reached"
    : `the seq of one of its ${messageCount} messages`;
  throw new StoreError("OPTION_INVALID", { option: "at", expected, actual: at });
}

/** The copy must have the embedder of the store. Vectors of messages are copied, and only a query asks it. */
function embedderOf(store: Store) {
  const [generation] = store.query("SELECT embedder_id AS id, dimension FROM generations ORDER BY id DESC LIMIT 1");
  const id = String(generation!.id);
  const embedder = readingEmbedder(id);
  return embedder.id === id ? embedder : silentEmbedder(id, Number(generation!.dimension));
}

function writeLines(path: string, lines: Iterable<string>): void {
  const file = openSync(path, "wx", 0o600);
  try {
    for (const line of lines) writeSync(file, `${line}\n`);
  } finally {
    closeSync(file);
  }
}
