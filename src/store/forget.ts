import { StoreError } from "../core/errors.ts";
import { logWithout } from "../forest/forget.ts";
import { isCode } from "./connect.ts";
import type { Covering } from "./coverage.ts";
import { type DeriveOptions, derive } from "./derive.ts";
import type { FullTextRepository } from "./full-text.ts";
import type { Repositories } from "./repositories.ts";
import type { SessionRow } from "./sessions.ts";
import type { UnionRow } from "./unions.ts";
import { dissolveSubjects, rebuildSession } from "./write.ts";

/** Pages of the full-text index that are written in one transaction while it is merged: some 10 ms. */
const MERGE_PAGES = 100;

/** What went. */
export interface Forgotten {
  messageCount: number;
  /** Summaries that covered any of them. */
  summaryCount: number;
  /** Long strings that no other message has. */
  artifactCount: number;
}

export interface ForgetReport extends Forgotten {
  /**
   * Whether no byte of them is left in the file and its write-ahead log. False while another process reads, or where the disk
   * is full: the rows are gone, but freed space still holds them until `forget` or `erase` runs again.
   */
  erased: boolean;
}

/**
 * A session was forgotten: its messages, forest and summaries, all at once. Clusters of others whose places among the
 * subjects depended on it are placed again in the background.
 */
export function forgetSession(repositories: Repositories, sessionId: string): Forgotten {
  const { database, sessions, messages, unions, summaries, spans, artifacts, generations, fullText } = repositories;
  return database.write("forget", () => {
    const session = sessions.byId(sessionId);
    if (session === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    for (const generation of generations.ids()) {
      leaveSubjects(repositories, session, generation, unions.ofSession(sessionId, generation), []);
    }
    const messageCount = messages.parents(sessionId).length;
    const summaryCount = summaries.finished(sessionId).length + spans.done(sessionId).length;
    unlessDamaged(fullText, () => fullText.deleteSession(sessionId));
    sessions.delete(sessionId);
    repositories.importedFiles.clear();
    generations.countRewrite();
    return { messageCount, summaryCount, artifactCount: artifacts.deleteOrphans() };
  });
}

/**
 * Messages were forgotten, each with its step: a call and its results never part. Summaries that covered them go too, the
 * log is written as if they had never been, and what is derived from it is derived again. Subjects as with a session.
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
): Forgotten {
  const { database, sessions, messages, unions, summaries, spans, costs, artifacts, generations, fullText } =
    repositories;
  return database.write("forget", () => {
    const session = sessions.byId(sessionId);
    if (session === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    const steps = new Set(messageIds.map((messageId) => stepOf(repositories, sessionId, messageId)));

    const isOfThem = ({ rootId, logPosition }: Covering): boolean =>
      unions.stepsOf("theme", rootId, logPosition).some((step) => steps.has(step));
    const covering = summaries.finished(sessionId).filter(isOfThem);
    const claims = summaries.claims(sessionId).filter(isOfThem);
    for (const id of [...covering, ...claims].map(({ id }) => id).concat(summaries.tries(sessionId))) {
      costs.discardSummary(id);
      summaries.delete(id);
    }

    const ids = messages.idsOfSteps([...steps]);
    const coveringSpans = spans.covering(sessionId, ids);
    for (const { id } of coveringSpans) {
      costs.discardSpan(id);
      spans.delete(id);
    }
    for (const generation of generations.ids()) {
      const log = unions.ofSession(sessionId, generation);
      const remaining = logWithout(log, steps);
      const entries = log.filter(({ kind, node }) => (kind === "start" || kind === "join") && steps.has(node));
      const touched = new Set(entries.map(({ root }) => root));
      const changing = log.filter(({ root }) => touched.has(root));
      leaveSubjects(repositories, session, generation, changing, remaining);
      unions.replace(sessionId, generation, remaining);
    }
    unlessDamaged(fullText, () => fullText.delete(ids));
    messages.forget(sessionId, ids, forgottenAtMs);
    repositories.importedFiles.clear();
    const { derived } = derive(repositories, session, options, (reason) => {
      throw new StoreError("STORE_CORRUPT", { path: database.path, reason });
    });
    rebuildSession(repositories, sessionId, derived!);
    return {
      messageCount: ids.length,
      summaryCount: covering.length + coveringSpans.filter(({ status }) => status === "done").length,
      artifactCount: artifacts.deleteOrphans(),
    };
  });
}

/**
 * Clusters of a session are about to change or to go: they lose their places among the subjects, and so does whatever came
 * to its place after them. Of those that go the log says no more, and those that lose their first step it calls by their
 * new name; so an old handle of a subject gives what is left of what it held.
 *
 * @param log  Rows of these clusters.
 * @param remaining  The session's log without what is forgotten: each row that is left keeps its position.
 */
function leaveSubjects(
  repositories: Repositories,
  { project }: SessionRow,
  generation: number,
  log: readonly UnionRow[],
  remaining: readonly UnionRow[],
): void {
  const { subjects, generations } = repositories;
  const firstSettled = log.find(({ kind }) => kind === "settle");
  if (firstSettled === undefined) return;
  if (generation === generations.newest()!.id) dissolveSubjects(repositories, project, firstSettled.id);
  const nameAt = new Map(remaining.map(({ id, root }) => [id, root]));
  const gone: number[] = [];
  for (const { id, kind, root } of log) {
    if (kind !== "start") continue;
    const name = nameAt.get(id);
    if (name === undefined) gone.push(root);
    else if (name !== root) subjects.rename(generation, root, name);
  }
  subjects.forget(generation, gone);
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
 * The full-text index keeps the words of deleted messages until their part of it is merged with another; so all of it is
 * merged into one part first, a little at a time, which takes up to half as long as writing the file: a second for 100,000
 * messages.
 *
 * @returns false where another process reads or writes, or the disk is full: nothing is lost then, and it can be tried again.
 */
export function erase(repositories: Repositories): boolean {
  const { database } = repositories;
  try {
    mergeFullText(repositories);
    return database.guard(() =>
      database.waiting(() => {
        database.client.exec("VACUUM");
        const [{ busy }] = database.client.pragma("wal_checkpoint(TRUNCATE)") as [{ busy: number }];
        return busy === 0;
      }),
    );
  } catch (error) {
    if (StoreError.is(error, "STORE_BUSY") || StoreError.is(error, "FILE_NOT_USABLE")) return false;
    throw error;
  }
}

/** In small transactions, and others may write after each. */
function mergeFullText({ database, fullText }: Repositories): void {
  const merges = (merge: () => boolean): boolean =>
    database.write("erase", () => {
      let isChanged = false;
      unlessDamaged(fullText, () => {
        isChanged = merge();
      });
      return isChanged;
    });
  const goOn = (): void => {
    while (merges(() => fullText.mergeOn(MERGE_PAGES))) letOthersWrite();
  };
  // What is being merged already would otherwise be left alone, and come to stand beside the rest.
  goOn();
  if (merges(() => fullText.mergeAll(MERGE_PAGES))) goOn();
}

/** Who waits for the lock looks for it every few milliseconds. */
function letOthersWrite(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
}

/** A damaged index must not keep a message from being forgotten: it is emptied, and fills again like a new one. */
function unlessDamaged(fullText: FullTextRepository, change: () => void): void {
  try {
    change();
  } catch (error) {
    if (!isCode(error, "CORRUPT|ERROR") && !StoreError.is(error, "STORE_CORRUPT")) throw error;
    fullText.clear();
  }
}
