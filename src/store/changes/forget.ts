import { randomUUID } from "node:crypto";
import { takeCitations } from "../../core/citations.ts";
import { DamageError } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import { nameInSession, OPENING_MESSAGES_MIN } from "../../core/remembered.ts";
import { logWithout } from "../../forest/forget.ts";
import type { FullTextRepository } from "../derived/full-text.ts";
import type { DeriveOptions } from "../derived/past-forests.ts";
import { isSpan } from "../derived/summaries.ts";
import { isEntry, type UnionRow } from "../derived/unions.ts";
import { assertOnPath, type SessionRow } from "../facts/sessions.ts";
import type { TombstoneRow } from "../facts/tombstones.ts";
import type { HeldText } from "../facts/traces.ts";
import { isCode } from "../file/connect.ts";
import type { Repositories } from "../repositories.ts";
import { derivedOf } from "./derive.ts";
import { dropHubNotes, isCopied, nameOnHub, noteForgotten, noteForgottenMessages } from "./hub-notes.ts";
import { type ForgetTarget, idsHeldBy, type RelatedSession } from "./related.ts";
import { dissolveSubjects, rebuildSession } from "./write.ts";

/** Pages of the full-text index merged in one transaction: about 10 ms. */
const MERGE_PAGES = 100;

export interface Forgotten {
  messageCount: number;
  tokenCount: number;
  /** How many sessions were forgotten as a whole. */
  sessionCount: number;
  /** Clusters that are gone or hold fewer messages. */
  clusterCount: number;
  /** Stored summaries that covered any of the messages. What the extractive summarizer writes is not stored. */
  summaryCount: number;
  /** Long strings that no other message uses. */
  artifactCount: number;
  /**
   * True if a session is a copy from a hub. Then only this store forgets it. To forget it for everyone, pull it with `take`, forget it,
   * and push.
   */
  isCopy: boolean;
}

export interface ForgetReport extends Forgotten {
  /**
   * Sessions that have the messages, too, or that were started by them. With the option `related`, they were forgotten as well.
   * Null if they cannot be found, because the file is damaged.
   */
  related: RelatedSession[] | null;
  /**
   * True if no byte of the messages is left in free space of the file and its write-ahead log. It is false if another process reads,
   * or if the disk is full. Then the rows are gone, but free space holds their bytes until the next `forget` that
   * erases. It is false after a dry run, too.
   */
  erased: boolean;
  /**
   * Sessions whose messages, summaries or titles have some of the same text: at least 32 bytes of it, or all of a text of at least 12.
   * The file was searched for it. Null if it was not, because it is a dry run, or `erased` is false.
   */
  stillIn: HeldText[] | null;
}

export interface ForgetTerms extends DeriveOptions {
  forgottenAtMs: number;
  /** True to only count what would go. */
  dryRun: boolean;
}

/**
 * Forgets sessions, or messages of them, in one transaction. In a dry run, everything that it wrote is undone, so that its counts are
 * exact.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND`; `MESSAGE_NOT_FOUND` for an id of another session; `SESSION_SHARED`; `STORE_CORRUPT` if
 * the log cannot be applied. Then nothing is forgotten.
 */
export function forget(repositories: Repositories, targets: readonly ForgetTarget[], terms: ForgetTerms): Forgotten {
  const { database, sessions, fullText } = repositories;
  // Once a transaction has read a broken page of the file, SQLite lets it write nothing.
  if (!terms.dryRun && targets.some(({ sessionId }) => sessions.unchecked(sessionId) !== undefined)) {
    emptying(repositories, () => database.read(() => fullText.anyWord()));
  }
  return database.write("forget", () => {
    const { client } = database;
    if (terms.dryRun) client.exec("SAVEPOINT dry_run");
    if (targets.length > 0) noteErasing(repositories);
    try {
      return sumOf(targets.map((target) => forgetOne(repositories, target, terms)));
    } finally {
      if (terms.dryRun) client.exec("ROLLBACK TO dry_run; RELEASE dry_run");
    }
  });
}

function forgetOne(repositories: Repositories, { sessionId, messageIds }: ForgetTarget, terms: ForgetTerms): Forgotten {
  const isCopy = isCopied(repositories, sessionId);
  return messageIds === undefined
    ? { ...forgetSession(repositories, sessionId, terms), sessionCount: 1, isCopy }
    : { ...forgetMessages(repositories, sessionId, messageIds, terms), sessionCount: 0, isCopy };
}

function sumOf(parts: readonly Forgotten[]): Forgotten {
  const none = { messageCount: 0, tokenCount: 0, sessionCount: 0, clusterCount: 0, summaryCount: 0, artifactCount: 0 };
  const sum = { ...none, isCopy: parts.some(({ isCopy }) => isCopy) };
  for (const part of parts) for (const key of Object.keys(none) as (keyof typeof none)[]) sum[key] += part[key];
  return sum;
}

type Counts = Omit<Forgotten, "sessionCount" | "isCopy">;

/** Forgets a session. Upkeep assigns clusters of other sessions again if their subjects depended on it. */
function forgetSession(repositories: Repositories, sessionId: string, terms: ForgetTerms): Counts {
  const { sessions, paths } = repositories;
  const session = sessions.unchecked(sessionId); // a damaged session can be forgotten, too
  if (session === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId });
  assertOnPath(session);
  paths.assertUnshared(sessionId, -1, "forget");
  burySession(repositories, session, terms.forgottenAtMs);
  noteForgotten(repositories, sessionId);
  buryCopies(repositories, sessionId, idsHeldBy(repositories, sessionId), () => ({
    forgottenAtMs: terms.forgottenAtMs,
  }));
  return deleteSession(repositories, session);
}

/**
 * Deletes a copy of a session of a hub. Unlike a forgotten session, it may come again. `erase` removes its bytes.
 *
 * @returns false if there is none. @throws {StoreError} `SESSION_SHARED` if a fork shares its messages.
 */
export function dropCopy(repositories: Repositories, sessionId: string): boolean {
  const { database, sessions, paths } = repositories;
  return database.write("pull", () => {
    dropHubNotes(repositories, sessionId);
    const session = sessions.unchecked(sessionId);
    if (session === undefined) return false;
    paths.assertUnshared(sessionId, -1, "forget");
    noteErasing(repositories);
    deleteSession(repositories, session);
    return true;
  });
}

function deleteSession(repositories: Repositories, session: Pick<SessionRow, "id" | "project">): Counts {
  const { sessions, messages, unions, subjects, clusters, summaries, artifacts, generations, fullText } = repositories;
  const { id: sessionId } = session;
  const holders = sessions.withBranches(sessionId);
  const tokenCount = holders.reduce((sum, id) => sum + messages.tokensOf(id), 0);
  const clusterCount = clusters.countOf(sessionId);
  for (const generation of generations.ids()) {
    dissolveSettled(repositories, session, generation, unions.unchecked(sessionId, generation));
    // Not those of the log: a fork lets clusters grow that another session began, and a rewind may have taken rows back.
    const named = subjects.ofSession(sessionId, generation).map(({ node }) => node);
    subjects.forget(generation, named);
  }
  const ids = idsHeldBy(repositories, sessionId);
  const summaryCount = summaries.done(sessionId).length;
  unlessDamaged(fullText, () => fullText.delete(ids));
  for (const id of holders.reverse()) sessions.delete(id);
  repositories.importedFiles.clear();
  generations.countRewrite();
  const counts = { messageCount: ids.length, tokenCount, clusterCount, summaryCount };
  return { ...counts, artifactCount: artifacts.deleteOrphans() };
}

/**
 * Forgets messages of a session or of its branches, with their whole steps, and the summaries that covered them. The log is rewritten as if the messages
 * had never existed, and everything is derived from it again.
 */
function forgetMessages(
  repositories: Repositories,
  sessionId: string,
  messageIds: readonly number[],
  terms: ForgetTerms,
): Counts {
  const { sessions, messages, unions, summaries, artifacts, generations, fullText, paths, tombstones } = repositories;
  const session = sessions.existing(sessionId);
  const own = sessions.withBranches(sessionId);
  const steps = new Set(
    messageIds.map((messageId) => {
      const found = messages.stepOf(messageId);
      if (found !== undefined) paths.assertUnsharedMessage(sessionId, found, "forget");
      if (found === undefined || !own.includes(found.sessionId)) {
        throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
      }
      return found.stepId;
    }),
  );

  const ids = messages.idsOfSteps([...steps]);
  const tokenCount = own.reduce((sum, id) => sum + messages.tokensOf(id, ids), 0);
  const changed = new Set<number>();
  buryMessages(repositories, sessionId, ids, terms.forgottenAtMs);
  noteForgottenMessages(repositories, sessionId);
  const mayCover = summaries.mayCover(sessionId, ids);
  const seqs = new Set(tombstones.named(JSON.stringify(ids)).map(({ seq }) => seq));
  const cites = (text: string): boolean =>
    text.split("\n").some((line) => takeCitations(line).seqs.some((seq) => seqs.has(seq)));
  // A cluster may have thousands of summaries, so not each of them reads the log.
  const logs = generations.ids().map((generation) => ({ generation, log: unions.ofSession(sessionId, generation) }));
  const entered = logs.flatMap(({ generation, log }) => {
    const rows = [...log, ...unions.undoneOf(sessionId, generation)].filter(isEntry);
    const own = rows.filter(({ node }) => steps.has(node));
    return own.map((row) => ({ undoneAt: Number.POSITIVE_INFINITY, ...row, generation }));
  });
  const covering = mayCover.filter(({ status, level, rootId, logPosition, text }) => {
    if (isSpan(level) || (status !== "done" && status !== "claimed")) return true;
    if (text !== null && cites(text)) return true; // a summary of another cluster may tell of it
    return entered.some(({ root, id, undoneAt, generation }) => {
      const held = root === rootId && id <= logPosition && undoneAt > logPosition;
      return held && generation === unions.generationAt({ position: logPosition });
    });
  });
  summaries.discard(covering.map(({ id }) => id));
  for (const { generation, log } of logs) {
    const remaining = logWithout(log, steps);
    const entries = log.filter(({ kind, node }) => (kind === "start" || kind === "join") && steps.has(node));
    const touched = new Set(entries.map(({ root }) => root));
    if (generation === generations.newest()!.id) for (const root of touched) changed.add(root);
    const changing = log.filter(({ root }) => touched.has(root));
    leaveSubjects(repositories, session, generation, changing, remaining);
    unions.replace(sessionId, generation, remaining);
    forgetUndone(repositories, sessionId, generation, log, steps);
  }
  unlessDamaged(fullText, () => fullText.delete(ids));
  for (const id of own) messages.forget(id, ids, terms.forgottenAtMs);
  repositories.importedFiles.clear();
  rebuildSession(repositories, sessionId, derivedOf(repositories, session, terms));
  return {
    messageCount: ids.length,
    tokenCount,
    clusterCount: changed.size,
    summaryCount: covering.filter(({ status }) => status === "done").length,
    artifactCount: artifacts.deleteOrphans(),
  };
}

/** Takes steps out of the logs as they were before rewinds. @param log  The session's log before the steps were forgotten. */
function forgetUndone(
  { unions }: Repositories,
  sessionId: string,
  generation: number,
  log: readonly UnionRow[],
  steps: ReadonlySet<number>,
): void {
  const undone = unions.undoneOf(sessionId, generation);
  for (const at of new Set(undone.map(({ undoneAt }) => undoneAt))) {
    const own = undone.filter(({ undoneAt }) => undoneAt === at);
    if (!own.some(({ node, root }) => steps.has(node) || steps.has(root))) continue;
    const held = [...log, ...undone.filter(({ undoneAt }) => undoneAt >= at)].filter(({ id }) => id < at);
    const ids = new Set(own.map(({ id }) => id));
    const membersOf = new Map(own.flatMap(({ node, members }) => (members === null ? [] : [[node, members]])));
    const remaining = logWithout(
      held.sort((left, right) => left.id - right.id),
      steps,
    ).filter(({ id }) => ids.has(id));
    const rows = remaining.map((row) => ({ ...row, undoneAt: at, members: membersOf.get(row.node) ?? null }));
    unions.replaceUndone(sessionId, generation, at, rows);
  }
}

type NamedSession = Pick<SessionRow, "id" | "source" | "externalId">;

/** Notes by what an import recognizes a session: its names, and its beginning, which a copy under another name has too. */
function burySession(repositories: Repositories, session: NamedSession, forgottenAtMs: number): void {
  const { tombstones } = repositories;
  const digests = tombstones.makeDigests();
  const sessionDigest = digests.session(session.id);
  const { source, externalId } = session;
  const names = source === null || externalId === null ? [] : [digests.origin(source, externalId)];
  const first = tombstones.openingMessages(session.id);
  const noted = notedOpening(repositories, session.id, first, sessionDigest);
  const opening = noted ? [digests.rest(noted)] : digests.ofForgotten(first.map(({ digest }) => digest));
  tombstones.add([sessionDigest, ...names, ...opening].map((digest) => ({ digest, sessionDigest, forgottenAtMs })));
}

/** Notes by what messages are recognized: their names in the session, and their content in its host's array or in a copy. */
function buryMessages(
  repositories: Repositories,
  sessionId: string,
  ids: readonly number[],
  forgottenAtMs: number,
): void {
  const { tombstones } = repositories;
  const digests = tombstones.makeDigests();
  const sessionDigest = digests.session(sessionId);
  const first = tombstones.openingMessages(sessionId).slice(0, OPENING_MESSAGES_MIN);
  const noted = notedOpening(repositories, sessionId, first, sessionDigest);
  const openingDigest = noted ?? digests.opening(first.map(({ digest }) => digest));
  const known = nameOnHub(repositories, sessionId);
  const rows = tombstones.named(JSON.stringify(ids)).flatMap(({ id: messageId, seq, externalId, ...said }) => {
    const row = { sessionDigest, messageId, forgottenAtMs };
    const named = { ...row, digest: digests.message(sessionId, nameInSession(externalId ?? undefined, seq)) };
    const onHub = known === undefined ? [] : [{ ...row, digest: digests.onHub(known, said) }];
    return [named, { ...row, digest: digests.content(openingDigest, said.digest), openingDigest }, ...onHub];
  });
  tombstones.add(rows);
  buryCopies(repositories, sessionId, ids, (messageId) => ({ messageId, forgottenAtMs }));
}

/** Notes by what messages are recognized in every session: their content and origin. */
function buryCopies(
  { tombstones, origins }: Repositories,
  sessionId: string,
  ids: readonly number[],
  rowOf: (messageId: number) => Pick<TombstoneRow, "messageId" | "forgottenAtMs">,
): void {
  const digests = tombstones.makeDigests();
  const sessionDigest = digests.session(sessionId);
  const rows = [...origins.of(ids).values()].flatMap(({ id, keys, digest }) =>
    keys.map((key) => ({ ...rowOf(id), sessionDigest, digest: digests.copy(key, Buffer.from(digest, "hex")) })),
  );
  tombstones.add(rows);
}

/** Returns the beginning that was noted when some of the given first messages of a session, or one before them, was forgotten. */
function notedOpening(
  { tombstones }: Repositories,
  sessionId: string,
  first: readonly { seq: number }[],
  sessionDigest: Buffer,
): Buffer | undefined {
  const lastSeq = first.at(-1)?.seq ?? Number.MAX_SAFE_INTEGER;
  return tombstones.forgottenBefore(sessionId, lastSeq) === undefined ? undefined : tombstones.openingOf(sessionDigest);
}

/** Lets imports bring back what was forgotten of a session, or some of its messages. @returns false if there was nothing. */
export function restoreForgotten(
  repositories: Repositories,
  sessionId: string,
  messageIds: readonly number[] | undefined,
): boolean {
  const { database, tombstones, importedFiles, generations } = repositories;
  return database.write("restore", () => {
    const digests = tombstones.digests();
    if (digests === undefined || tombstones.delete(digests.session(sessionId), messageIds) === 0) return false;
    importedFiles.clear();
    generations.countRewrite(); // a watch that left the messages out must not note their files as imported
    return true;
  });
}

/**
 * Takes clusters out of their subjects if they change. If a cluster lost its first step, the log of subjects gets its new root, so
 * that old handles stay valid.
 *
 * @param log  The rows of the clusters that change.
 * @param remaining  The session's log without the forgotten steps. Rows keep their positions.
 */
function leaveSubjects(
  repositories: Repositories,
  session: Pick<SessionRow, "project">,
  generation: number,
  log: readonly Pick<UnionRow, "id" | "kind" | "root">[],
  remaining: readonly UnionRow[],
): void {
  const { subjects } = repositories;
  if (!dissolveSettled(repositories, session, generation, log)) return;
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
 * Takes settled clusters that change or are deleted out of their subjects, and with them those that were assigned later.
 *
 * @param log  The rows of these clusters.
 * @returns false if none has settled.
 */
function dissolveSettled(
  repositories: Repositories,
  { project }: Pick<SessionRow, "project">,
  generation: number,
  log: readonly Pick<UnionRow, "id" | "kind">[],
): boolean {
  const firstSettled = log.find(({ kind }) => kind === "settle");
  const isNow = generation === repositories.generations.newest()!.id;
  if (firstSettled !== undefined && isNow) dissolveSubjects(repositories, project, firstSettled.id);
  return firstSettled !== undefined;
}

const ERASING = "eraseDue";

/** Notes, in the transaction that deletes messages, that their bytes have to go. */
export function noteErasing({ settings }: Pick<Repositories, "settings">): void {
  settings.set(ERASING, { id: randomUUID(), isRewritten: false } satisfies Erasing);
}

/** True if bytes of forgotten messages may be left in the file or its log. */
export function isErasingDue({ settings }: Pick<Repositories, "settings">): boolean {
  return settings.get(ERASING) !== undefined;
}

interface Erasing {
  /** Another process may forget something meanwhile. */
  id: string;
  /** True if only the log is left to empty. */
  isRewritten: boolean;
}

/** Changes what is due, unless something was forgotten since. */
function setErasing({ database, settings }: Repositories, due: Erasing, next: Erasing | undefined): void {
  database.write("erase", () => {
    if ((settings.get(ERASING) as Erasing | undefined)?.id !== due.id) return;
    if (next === undefined) settings.delete(ERASING);
    else settings.set(ERASING, next);
  });
}

/**
 * Removes the bytes of deleted messages: merges the full-text index, rewrites the file without free space, and empties the write-ahead
 * log. It needs free disk space of the size of the file. SQLite's `secure_delete` would be faster and not enough: where SQLite has
 * divided pages, it leaves copies of rows.
 * @param isIndexGone  False if a file beside the store still holds clusters of them.
 * @returns false if it does, another process reads or writes, or the disk is full. Then it stays due.
 */
export function erase(repositories: Repositories, isIndexGone: boolean): boolean {
  const { database, settings } = repositories;
  try {
    const due = database.read(() => settings.get(ERASING)) as Erasing | undefined;
    if (!due?.isRewritten) {
      mergeFullText(repositories);
      database.guard(() => database.waiting(() => database.client.exec("VACUUM")));
      if (due !== undefined) setErasing(repositories, due, { ...due, isRewritten: true });
    }
    const isEmpty = database.guard(() =>
      database.waiting(() => {
        const [{ busy }] = database.client.pragma("wal_checkpoint(TRUNCATE)") as [{ busy: number }];
        return busy === 0;
      }),
    );
    const isErased = isEmpty && isIndexGone;
    if (isErased && due !== undefined) setErasing(repositories, due, undefined);
    return isErased;
  } catch (error) {
    if (StoreError.is(error, "STORE_BUSY") || StoreError.is(error, "FILE_NOT_USABLE")) return false;
    throw error;
  }
}

/** Merges in small transactions, so that other processes may write between them. */
function mergeFullText(repositories: Repositories): void {
  const { database, fullText } = repositories;
  const merges = (pages: number): boolean =>
    emptying(repositories, () => database.write("erase", () => fullText.merge(pages))) === true;
  const finishMerge = (): void => {
    // A process that waits for the lock tries every few milliseconds. This pause lets it take the lock.
    while (merges(MERGE_PAGES)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
  };
  // A merge that has begun is finished first. Otherwise its part would not be merged with the others.
  finishMerge();
  if (merges(-MERGE_PAGES)) finishMerge();
}

/**
 * Runs `change` inside a transaction. If the full-text index is damaged, empties it: it must never prevent forgetting, and it is
 * filled again later.
 */
export function unlessDamaged(fullText: FullTextRepository, change: () => void): void {
  try {
    fullText.tried(change);
  } catch (error) {
    if (!isDamage(error)) throw error;
    fullText.clear();
  }
}

/** Runs a transaction, or a read of the index. If the index is damaged, empties it in a transaction of its own. */
function emptying<T>({ database, fullText }: Repositories, run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (!isDamage(error)) throw error;
    database.write("erase", () => fullText.clear());
    return undefined;
  }
}

function isDamage(error: unknown): boolean {
  return isCode(error, "CORRUPT|ERROR") || error instanceof DamageError || StoreError.is(error, "STORE_CORRUPT");
}
