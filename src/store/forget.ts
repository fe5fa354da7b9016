import { StoreError } from "../core/errors.ts";
import { logWithout } from "../forest/forget.ts";
import { Coverage } from "./coverage.ts";
import { type DeriveOptions, derive } from "./derive.ts";
import type { StoreDatabase } from "./open.ts";
import type { Repositories } from "./repositories.ts";
import { rebuildSession } from "./write.ts";

/** What went. */
export interface ForgetReport {
  messageCount: number;
  /** Summaries that covered any of them. */
  summaryCount: number;
  /** Long strings that no other message has. */
  artifactCount: number;
  /**
   * Whether no byte of them is left in the file and its write-ahead log. False while another process reads: the rows are
   * gone, but freed space still holds them until `forget` or `erase` runs again.
   */
  erased: boolean;
}

/** A session was forgotten: its messages, forest and summaries, all at once. */
export function forgetSession(repositories: Repositories, sessionId: string): ForgetReport {
  const { database, sessions, messages, summaries, artifacts } = repositories;
  const counts = database.write("forget", () => {
    if (sessions.byId(sessionId) === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    const messageCount = messages.parents(sessionId).length;
    const summaryCount = summaries.finished(sessionId).length;
    sessions.delete(sessionId);
    return { messageCount, summaryCount, artifactCount: artifacts.deleteOrphans() };
  });
  return { ...counts, erased: erase(database) };
}

/**
 * Messages were forgotten, each with its step: a call and its results never part. Summaries that covered them go too, the
 * log is written as if they had never been, and what is derived from it is derived again.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND`; `MESSAGE_NOT_FOUND` for an id that is not the session's; `STORE_CORRUPT` if the
 *   log cannot be applied. Nothing is forgotten then.
 */
export function forgetMessages(
  repositories: Repositories,
  sessionId: string,
  messageIds: readonly number[],
  forgottenAtMs: number,
  options: DeriveOptions,
): ForgetReport {
  const { database, sessions, messages, unions, summaries, artifacts, generations } = repositories;
  const counts = database.write("forget", () => {
    const session = sessions.byId(sessionId);
    if (session === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    const steps = new Set(messageIds.map((messageId) => stepOf(repositories, sessionId, messageId)));

    const coverage = new Coverage(unions);
    const log = unions.ofSession(sessionId);
    const entries = log.filter(({ kind, node }) => (kind === "start" || kind === "join") && steps.has(node));
    const covering = summaries
      .finished(sessionId)
      .filter((summary) => entries.some(({ id, root }) => coverage.covers(summary, root, id)));
    for (const { id } of covering) summaries.delete(id);
    summaries.deleteTries(sessionId);

    const ids = messages.idsOfSteps([...steps]);
    messages.forget(sessionId, ids, forgottenAtMs);
    unions.replace(sessionId, generations.newest()!.id, logWithout(log, steps));
    const { derived } = derive(repositories, session, options, (reason) => {
      throw new StoreError("STORE_CORRUPT", { path: database.path, reason });
    });
    rebuildSession(repositories, sessionId, derived!);
    return { messageCount: ids.length, summaryCount: covering.length, artifactCount: artifacts.deleteOrphans() };
  });
  return { ...counts, erased: erase(database) };
}

function stepOf({ messages }: Repositories, sessionId: string, messageId: number): number {
  const place = messages.stepOf(messageId);
  if (place?.sessionId !== sessionId) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
  return place.stepId;
}

/**
 * Write the file anew without its freed space, and empty the write-ahead log. SQLite only marks deleted rows as free, and
 * the log holds pages as they were. Needs as much free space on disk as the file has.
 *
 * @returns false where another process reads or writes: nothing is lost then, and it can be tried again.
 */
export function erase(database: StoreDatabase): boolean {
  try {
    database.client.exec("VACUUM");
    const [{ busy }] = database.client.pragma("wal_checkpoint(TRUNCATE)") as [{ busy: number }];
    return busy === 0;
  } catch (error) {
    if ((error as { code?: string }).code?.startsWith("SQLITE_BUSY")) return false;
    throw error;
  }
}
