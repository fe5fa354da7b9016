import { StoreError } from "../../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../../core/limits.ts";
import type { Message } from "../../core/message.ts";
import type { SessionSettings } from "../../core/options.ts";
import type { GrowingTheme } from "../../forest/growing-forest.ts";
import { encodeEmbedding } from "../../vector/codec.ts";
import type { ActionsOf } from "../derived/actions.ts";
import type { Lease } from "../derived/claimant.ts";
import type { ClusterState } from "../derived/cluster-rows.ts";
import type { ClaimableVector, PendingVectorRepository } from "../derived/pending-vectors.ts";
import type { AssignedCluster } from "../derived/subjects.ts";
import type { UnionRow } from "../derived/unions.ts";
import type { FoundInFile } from "../facts/imported-files.ts";
import type { MessageRow } from "../facts/messages.ts";
import type { NewSession } from "../facts/sessions.ts";
import type { Repositories } from "../repositories.ts";
import type { DerivedRows } from "./derive.ts";
import { notePlacement } from "./new-generation.ts";

// One exported function for each event, each in one transaction. write-summaries.ts has those of summaries.

export interface FrontierMove {
  sessionId: string;
  /** The session's next seq. */
  seqEnd: number;
  graduatedBefore: number;
  graduatedSeq: number;
  evictedSeq: number;
  unions: readonly UnionRow[];
  positionBefore: number;
  position: number;
  /** Clusters that a step started or joined. Their titles are made when their rows are written. */
  clusters: readonly (Omit<ClusterState, "label"> & { label: () => string })[];
  /** All themes after the move, oldest root first. */
  themes: readonly GrowingTheme[];
  /** Messages that enter the forest before their vectors came. */
  vectorless: readonly number[];
}

/**
 * Records the first embedder of a new store. A damaged store is not changed, so that it can be read and verified.
 *
 * @returns the embedder of the generation in use, which another process may have started.
 */
export function startGeneration(
  repositories: Repositories,
  embedderId: string,
  dimension: number,
  createdAtMs: number,
): string {
  const { database, generations } = repositories;
  if (!database.read(() => generations.isStarted())) {
    database.write("open", () => {
      if (generations.isStarted()) return;
      generations.insert({ embedderId, dimension, createdAtMs, logPosition: 0 });
      notePlacement(repositories);
    });
  }
  return database.read(() => generations.embedderNow()) ?? embedderId;
}

/** Creates a session. If another process has just created one with the same names, returns the id of that one. */
export function createSession({ database, sessions }: Repositories, session: NewSession): string | undefined {
  return database.write("session", () => {
    if (sessions.byId(session.id) !== undefined) return session.id;
    const { source, externalId } = session;
    const known = source == null || externalId == null ? undefined : sessions.idByExternalId(source, externalId);
    if (known === undefined) sessions.insert(session);
    return known;
  });
}

/** Sets a title, project or parent that a session lacked. Values that it has stay. In a new project, subjects change. */
export function completeSession(
  repositories: Repositories,
  id: string,
  known: { title: string | undefined; project: string | undefined; parentSessionId: string | undefined },
): void {
  const { database, sessions, subjects } = repositories;
  database.write("session", () => {
    const before = sessions.byId(id)?.project ?? null;
    const settledFrom = subjects.firstSettled(id);
    const moves = before === null && known.project !== undefined && settledFrom !== undefined;
    if (moves) dissolveSubjects(repositories, before, settledFrom);
    sessions.complete(id, known.title ?? null, known.project ?? null, known.parentSessionId ?? null);
    if (moves) dissolveSubjects(repositories, known.project!, settledFrom);
  });
}

/**
 * Pins the step of a message, or unpins it. A step of the forest stays as it is, because the log says when it entered.
 *
 * @throws {StoreError} `MESSAGE_NOT_FOUND`; `SESSION_SHARED`; `OPTION_INVALID` for a step that has graduated, and to unpin a system
 *   message.
 */
export function pinStep(repositories: Repositories, sessionId: string, messageId: number, pinned: boolean): void {
  const { database, sessions, messages, paths } = repositories;
  database.write("pin", () => {
    const found = messages.stepOf(messageId);
    if (found !== undefined) paths.assertUnsharedMessage(sessionId, found, "change");
    const session = sessions.byId(sessionId);
    if (session === undefined || found?.sessionId !== sessionId)
      throw new StoreError("MESSAGE_NOT_FOUND", { messageId });
    const step = messages.byIds(messages.idsOfSteps([found.stepId]));
    const changing = step.filter((message) => message.pinned !== pinned);
    if (changing.length === 0) return;
    const isFixed = step.some(({ seq, role }) => seq < session.graduatedSeq || (role === "system" && !pinned));
    if (isFixed) {
      const expected = `a message with seq ${session.graduatedSeq} or later, and to unpin it, no system message`;
      throw new StoreError("OPTION_INVALID", { option: "messageId", expected, actual: messageId });
    }
    messages.setPinned(
      changing.map(({ id }) => id),
      pinned,
    );
    sessions.countRewrite(sessionId);
  });
}

export function changeSettings(repositories: Repositories, sessionId: string, settings: SessionSettings): void {
  repositories.database.write("session", () => repositories.sessions.setSettings(sessionId, settings));
}

export interface SessionWrites {
  insert(message: Message, row: MessageRow): void;
  /** Writes the open clusters and the themes of a fork, so that other processes need not make them from the log. */
  keepForest(sessionId: string): void;
  move(move: FrontierMove): void;
  /** Writes the log of a move. `grow` must follow in the same transaction. */
  log(move: FrontierMove): void;
  /** Writes what moves that are in the log have changed: each row once, however many moves have changed it. */
  grow(moves: readonly FrontierMove[]): void;
}

/** Changes a session. `change` runs inside the transaction: it reads the session, decides, and writes. */
export function changeSession<T>(
  repositories: Repositories,
  operation: "append" | "compact",
  change: (session: SessionWrites) => T,
): T {
  const { database, messages, pendingVectors } = repositories;
  const writes: SessionWrites = {
    insert(message, row) {
      messages.insert(message, row);
      if (row.vectorDueSinceMs !== undefined) pendingVectors.add(row.vectorDueSinceMs, message.id);
    },
    keepForest: (sessionId) => keepForest(repositories, sessionId),
    move(move) {
      logMove(repositories, move);
      growForest(repositories, [move]);
    },
    log: (move) => logMove(repositories, move),
    grow: (moves) => growForest(repositories, moves),
  };
  return database.write(operation, () => change(writes));
}

/**
 * Claims some of the due vectors. `choose` also runs before the transaction, which is skipped if there
 * are none. @throws {StoreError} `EMBEDDER_MISMATCH` if another embedder is in use.
 */
export function claimVectors(
  repositories: Repositories,
  embedderId: string,
  lease: Lease,
  choose: (pending: PendingVectorRepository) => ClaimableVector[],
): ClaimableVector[] {
  const { database, pendingVectors } = repositories;
  if (database.read(() => choose(pendingVectors)).length === 0) return [];
  return database.write("embed", () => {
    assertGeneration(repositories, embedderId);
    const chosen = choose(pendingVectors);
    const ids = chosen.map(({ messageId }) => messageId);
    pendingVectors.claim(ids, lease);
    return chosen;
  });
}

/** Returns false if one of the claims was lost. */
export function renewVectorClaims(
  { database, pendingVectors }: Repositories,
  ids: readonly number[],
  lease: Lease,
): boolean {
  return database.write("embed", () => pendingVectors.renewClaims(ids, lease) === ids.length);
}

/**
 * Stores vectors. A vector is dropped if its message was forgotten, or entered the forest without it.
 *
 * @returns the number of vectors stored.
 * @throws {StoreError} `EMBEDDER_MISMATCH` if another embedder is in use.
 */
export function storeVectors(
  repositories: Repositories,
  embedderId: string,
  vectors: readonly { messageId: number; embedding: Float32Array }[],
): number {
  const { database, pendingVectors } = repositories;
  let count = 0;
  for (let from = 0; from < vectors.length; from += BATCH_MESSAGES_MAX) {
    database.write("embed", () => {
      assertGeneration(repositories, embedderId);
      for (const { messageId, embedding } of vectors.slice(from, from + BATCH_MESSAGES_MAX)) {
        if (pendingVectors.store(messageId, encodeEmbedding(embedding), embedderId)) count += 1;
      }
    });
  }
  return count;
}

function assertGeneration({ generations }: Repositories, embedderId: string): void {
  const stored = generations.newest()!.embedderId;
  if (stored !== embedderId) throw new StoreError("EMBEDDER_MISMATCH", { stored, given: embedderId });
}

/** Records that vectors could not be made. `note` writes the reason. */
export function vectorsFailed(
  { database, pendingVectors }: Repositories,
  note: (pending: PendingVectorRepository) => void,
): void {
  database.write("embed", () => note(pendingVectors));
}

/** Assigns settled clusters to subjects. `plan` runs inside the transaction. */
export function assignClusters(repositories: Repositories, plan: () => readonly AssignedCluster[]): void {
  const { database, unions, subjects, generations } = repositories;
  database.write("subjects", () => {
    const generation = generations.newest()!.id;
    let position = unions.newestPosition() + 1;
    for (const placed of plan()) position = subjects.assign(generation, position, placed);
  });
}

/**
 * Takes clusters of a project that settled at `settledFrom` or later out of their subjects. Upkeep assigns them again. Call it
 * inside the transaction that changes an earlier cluster.
 */
export function dissolveSubjects(
  { unions, subjects, generations }: Repositories,
  project: string | null,
  settledFrom: number,
): void {
  subjects.dissolveFrom(project, settledFrom, generations.newest()!.id, unions.newestPosition() + 1);
}

/** A message that this process has just stored. */
export interface FreshMessage {
  message: Message;
  /** The words of its text with spaces between them, if they are known. */
  words: string | undefined;
}

interface IndexTextsOptions {
  /** Empties the index first. */
  fromScratch?: boolean;
  /** Notes what as many of the oldest unread messages did, too. */
  actionsOf?: ActionsOf;
  /** Messages that need not be read, by id. */
  fresh?: ReadonlyMap<number, FreshMessage>;
}

/** Adds the oldest messages of the tail to the full-text index, at most a hundred. @returns how many messages were read. */
export function indexTexts(
  { database, fullText, actions }: Repositories,
  wordsOf: (text: string) => readonly string[],
  { fromScratch = false, actionsOf, fresh = new Map() }: IndexTextsOptions = {},
): number {
  const hasWork = (): boolean => fullText.tail(1).length > 0 || (actionsOf !== undefined && actions.isBehind());
  if (!fromScratch && !database.read(hasWork)) return 0;
  return database.write("index", () => {
    if (fromScratch) fullText.clear();
    const batch = fullText.tail(BATCH_MESSAGES_MAX);
    // The words of a message with a name are also those of the name.
    const held = (id: number) => (fresh.get(id)?.message.name === undefined ? fresh.get(id) : undefined);
    const read = fullText.texts(batch.filter((id) => held(id) === undefined));
    const texts = new Map([...read].map(({ id, text }) => [id, text]));
    for (const id of batch) {
      const { words, message } = held(id) ?? {};
      fullText.insert(id, words === undefined ? wordsOf(message?.text ?? texts.get(id)!) : [words]);
    }
    const notedCount = actionsOf === undefined ? 0 : actions.note(BATCH_MESSAGES_MAX, actionsOf, fresh);
    return Math.max(batch.length, notedCount);
  });
}

/** Computes the derived rows of a session again from the log. */
export function rebuildSession(repositories: Repositories, sessionId: string, derived: DerivedRows): void {
  const { database, messages, clusters, themes, subjects, sessions, generations, frontierMoves } = repositories;
  database.write("verify --rebuild", () => {
    generations.countRewrite();
    const moved: number[] = [];
    for (const { id, parentId } of messages.parentsOf(sessionId)) {
      if ((derived.parents.get(id) ?? id) !== parentId) moved.push(id);
    }
    for (const id of moved) messages.setParent(derived.parents.get(id) ?? id, id, sessionId);
    clusters.deleteOf(sessionId);
    themes.deleteOf(sessionId);
    frontierMoves.deleteCheckpointsAfter(sessionId, 0);
    for (const row of derived.clusters) {
      clusters.put(sessionId, row);
      if (row.settledAt !== null) clusters.settle(row.settledAt, row.cluster.root, sessionId);
      if (row.subjectRoot !== null) subjects.setRoot(row.subjectRoot, row.cluster.root);
    }
    for (const theme of derived.themes) themes.put(sessionId, theme);
    sessions.countRewrite(sessionId); // so that other processes load the rows again
  });
}

/** Gives a fork rows of its own for the open clusters and the themes that it shares. There are never many. */
function keepForest({ clusters, themes, paths }: Repositories, sessionId: string): void {
  if (paths.grower(sessionId)?.sessionId === sessionId) return;
  const shared = { clusters: clusters.open(sessionId), themes: themes.ofSession(sessionId) };
  for (const state of shared.clusters) clusters.put(sessionId, state);
  for (const state of shared.themes) themes.put(sessionId, state);
}

function logMove(repositories: Repositories, move: FrontierMove): void {
  const { pendingVectors, unions, summaries, generations, frontierMoves } = repositories;
  const { sessionId, seqEnd, graduatedBefore, graduatedSeq, evictedSeq, position } = move;
  const generation = generations.newest()!.id;
  for (const union of move.unions) unions.add(sessionId, generation, union);
  pendingVectors.delete(move.vectorless);
  summaries.showWaiting(position, sessionId);
  frontierMoves.note({ sessionId, seqEnd, graduatedSeq, evictedSeq, logPosition: position });
  if (frontierMoves.isCheckpointDue(graduatedBefore, graduatedSeq)) {
    frontierMoves.putCheckpoint(sessionId, position, graduatedSeq, move.themes);
  }
}

function growForest(repositories: Repositories, moves: readonly FrontierMove[]): void {
  const last = moves.at(-1);
  if (last === undefined) return;
  const { sessions, messages, clusters, themes } = repositories;
  const { sessionId, graduatedSeq, evictedSeq } = last;
  keepForest(repositories, sessionId);
  const grown = new Map(moves.flatMap((move) => move.clusters.map((state) => [state.cluster.root, state])));
  for (const state of grown.values()) clusters.put(sessionId, { ...state, label: state.label() });
  const log = moves.flatMap(({ unions }) => unions);
  const entries = log.filter(({ kind }) => kind === "start" || kind === "join");
  messages.setParentsOfSteps(
    sessionId,
    entries.map(({ node, root }) => [node, root]),
  );
  for (const { id, kind, node, root } of log) {
    if (kind === "settle") clusters.settle(id, root, sessionId);
    if (kind !== "unite") continue;
    messages.setParent(root, node, sessionId);
    themes.delete(node, sessionId);
  }
  const positionBefore = moves[0]!.positionBefore;
  for (const state of last.themes) if (state.logPosition > positionBefore) themes.put(sessionId, state);
  sessions.moveFrontier(graduatedSeq, evictedSeq, sessionId, moves.length);
}

export interface ImportedFile {
  path: string;
  /** A text that changes when the file changes. */
  state: string;
  found: FoundInFile;
}

/** Notes files that were imported completely. Nothing is written if anything was forgotten since `rewriteCount` was read. */
export function noteImportedFiles(
  { database, generations, importedFiles }: Repositories,
  files: readonly ImportedFile[],
  rewriteCount: number,
): void {
  database.write("noteImportedFiles", () => {
    if (generations.rewriteCountOfAll() !== rewriteCount) return;
    for (const { path, state, found } of files) importedFiles.put(path, state, found);
  });
}
