import { StoreError } from "../core/errors.ts";
import { logWithout } from "../forest/forget.ts";
import { isCode } from "./connect.ts";
import { type DeriveOptions, derive } from "./derive.ts";
import type { FullTextRepository } from "./full-text.ts";
import type { Repositories } from "./repositories.ts";
import type { SessionRow } from "./sessions.ts";
import { isSpan } from "./summaries.ts";
import type { UnionRow } from "./unions.ts";
import { dissolveSubjects, rebuildSession } from "./write.ts";

/** Pages of the full-text index merged in one transaction: about 10 ms. */
const MERGE_PAGES = 100;

export interface Forgotten {
  messageCount: number;
  /** Summaries that covered any of the messages. */
  summaryCount: number;
  /** Long strings that no other message uses. */
  artifactCount: number;
}

export interface ForgetReport extends Forgotten {
  /**
   * True if no byte of the messages is left in the file and its write-ahead log. It is false if another process reads,
   * or if the disk is full. Then the rows are gone, but free space holds their bytes until the next `forget` that
   * erases.
   */
  erased: boolean;
}

/** Forgets a session. Upkeep assigns clusters of other sessions again if their subjects depended on it. */
export function forgetSession(repositories: Repositories, sessionId: string): Forgotten {
  const { database, sessions, messages, unions, summaries, artifacts, generations, fullText } = repositories;
  return database.write("forget", () => {
    const session = sessions.unchecked(sessionId); // a damaged session can be forgotten, too
    if (session === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    for (const generation of generations.ids()) {
      leaveSubjects(repositories, session, generation, unions.unchecked(sessionId, generation), []);
    }
    const ids = messages.parents(sessionId).map(({ id }) => id);
    const summaryCount = summaries.done(sessionId).length;
    unlessDamaged(fullText, () => fullText.delete(ids));
    sessions.delete(sessionId);
    repositories.importedFiles.clear();
    generations.countRewrite();
    return { messageCount: ids.length, summaryCount, artifactCount: artifacts.deleteOrphans() };
  });
}

/**
 * Forgets messages with their whole steps, and the summaries that covered them. The log is rewritten as if the messages
 * had never existed, and everything is derived from it again.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND`; `MESSAGE_NOT_FOUND` for an id of another session; `STORE_CORRUPT` if the
 * log cannot be applied. Then nothing is forgotten.
 */
export function forgetMessages(
  repositories: Repositories,
  sessionId: string,
  messageIds: readonly number[],
  forgottenAtMs: number,
  options: DeriveOptions,
): Forgotten {
  const { database, sessions, messages, unions, summaries, artifacts, generations, fullText } = repositories;
  return database.write("forget", () => {
    const session = sessions.byId(sessionId);
    if (session === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
    const steps = new Set(
      messageIds.map((messageId) => {
        const found = messages.stepOf(messageId);
        if (found?.sessionId !== sessionId) throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
        return found.stepId;
      }),
    );

    const ids = messages.idsOfSteps([...steps]);
    const mayCover = summaries.mayCover(sessionId, ids);
    const covering = mayCover.filter(({ status, level, rootId, logPosition }) => {
      if (isSpan(level) || (status !== "done" && status !== "claimed")) return true;
      return unions.stepsOf(level, rootId, logPosition).some((step) => steps.has(step));
    });
    // A later summary of a cluster begins where the summary of its theme ended, so it goes with it.
    for (const { rootId, logPosition } of covering.filter(({ level }) => level === "theme")) {
      const clusters = new Set(unions.stepsOf("theme", rootId, logPosition));
      const builtOn = mayCover.filter((row) => {
        return row.level === "cluster" && clusters.has(row.rootId) && row.logPosition > logPosition;
      });
      covering.push(...builtOn.filter((row) => !covering.includes(row)));
    }
    summaries.discard(covering.map(({ id }) => id));
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
      summaryCount: covering.filter(({ status }) => status === "done").length,
      artifactCount: artifacts.deleteOrphans(),
    };
  });
}

/**
 * Takes clusters out of their subjects if they change or are deleted. Clusters that were assigned later are taken out,
 * too. If a cluster lost its first step, the log of subjects gets its new root, so that old handles stay valid.
 *
 * @param log  The rows of the clusters that change.
 * @param remaining  The session's log without the forgotten steps. Rows keep their positions.
 */
function leaveSubjects(
  repositories: Repositories,
  { project }: Pick<SessionRow, "project">,
  generation: number,
  log: readonly Pick<UnionRow, "id" | "kind" | "root">[],
  remaining: readonly UnionRow[],
): void {
  const { subjects, generations } = repositories;
  const firstSettled = log.find(({ kind }) => kind === "settle");
  if (firstSettled === undefined) return;
  if (generation === generations.newest()!.id) dissolveSubjects(repositories, project, firstSettled.id);
  const rootAt = new Map(remaining.map(({ id, root }) => [id, root]));
  const gone: number[] = [];
  for (const { id, kind, root } of log) {
    if (kind !== "start") continue;
    const newRoot = rootAt.get(id);
    if (newRoot === undefined) gone.push(root);
    else if (newRoot !== root) subjects.rename(generation, root, newRoot);
  }
  subjects.forget(generation, gone);
}

/**
 * Removes the bytes of deleted messages: merges the full-text index, rewrites the file without free space, and empties
 * the write-ahead log. It needs free disk space of the size of the file.
 *
 * @returns false if another process reads or writes, or the disk is full. A later call can try again.
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

/** Other processes may write after each small transaction. */
function mergeFullText({ database, fullText }: Repositories): void {
  const merges = (pages: number): boolean =>
    database.write("erase", () => unlessDamaged(fullText, () => fullText.merge(pages))) === true;
  const finishMerge = (): void => {
    // A process that waits for the lock tries every few milliseconds. This pause lets it take the lock.
    while (merges(MERGE_PAGES)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  };
  // A merge that has begun is finished first. Otherwise its part would not be merged with the others.
  finishMerge();
  if (merges(-MERGE_PAGES)) finishMerge();
}

/** A damaged full-text index is emptied and fills again, because it must never prevent forgetting. */
function unlessDamaged<T>(fullText: FullTextRepository, change: () => T): T | undefined {
  try {
    return change();
  } catch (error) {
    if (!isCode(error, "CORRUPT|ERROR") && !StoreError.is(error, "STORE_CORRUPT")) throw error;
    fullText.clear();
    return undefined;
  }
}
