import { DamageError } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import { logWithout } from "../../forest/forget.ts";
import type { Frontier } from "../../forest/window.ts";
import type { ActionsOf } from "../derived/actions.ts";
import { clusterAt, type DeriveOptions, themesAt } from "../derived/past-forests.ts";
import { isSpan, type SummaryRepository, type SummaryRow } from "../derived/summaries.ts";
import type { UnionRow } from "../derived/unions.ts";
import type { GenerationRow } from "../facts/generations.ts";
import type { SessionRow } from "../facts/sessions.ts";
import type { Repositories } from "../repositories.ts";
import { derivedOf } from "./derive.ts";
import { unlessDamaged } from "./forget.ts";
import { dissolveSubjects, rebuildSession } from "./write.ts";

/** After a replay of this many rows, a checkpoint is kept, so that the next rewind is short. */
const LONG_REPLAY_ROWS = 1_000;

export type RewindTarget = { toSeq: number } | { toMessageId: number };

export interface RewindTerms extends DeriveOptions {
  /** The id of the branch, if one is made. */
  branchId: string;
  nowMs: number;
  /** False if `undo` must not take this back. */
  isUndoable: boolean;
  actionsOf: ActionsOf;
}

export interface Rewound {
  /** The branch that holds the superseded messages and entries; null if there were none. */
  branchId: string | null;
  supersededCount: number;
}

/** Makes a session go back. @throws {StoreError} `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`, `OPTION_INVALID`. */
export function rewind(repositories: Repositories, sessionId: string, to: RewindTarget, terms: RewindTerms): Rewound {
  return repositories.database.write("rewind", () => {
    const session = repositories.sessions.existing(sessionId);
    return rewindSession(repositories, session, seqOf(repositories, sessionId, to), terms);
  });
}

/**
 * Empties a branch into the end of its session, one message after the other, and deletes it. Call it inside a transaction.
 *
 * @param place  Called for each message with the calls that it answers. It must move the message to the session.
 * @returns the ids of the messages.
 */
export function takeBack(
  { sessions, messages, entries, pendingVectors }: Repositories,
  { id: branchId, forkSeq }: { id: string; forkSeq: number },
  sessionId: string,
  terms: Pick<RewindTerms, "branchId" | "nowMs">,
  place: (id: number, stepId: number, calls: readonly string[]) => void,
): number[] {
  const superseded = messages.range(branchId, forkSeq + 1, Number.MAX_SAFE_INTEGER);
  messages.moveForgotten({ from: branchId, to: sessionId, seq: forkSeq });
  for (const { id, stepId, parts } of superseded) {
    const calls = parts.flatMap((part) => (part.type === "tool_result" ? [part.toolCallId] : []));
    place(id, stepId, calls);
  }
  // A newer entry may have taken the id of a superseded one. It is superseded too, even if no message is.
  entries.moveSharing(sessionId, branchId, () => {
    if (sessions.byId(terms.branchId) === undefined) {
      const place = { id: terms.branchId, nowMs: terms.nowMs, seqLast: forkSeq, seqEnd: forkSeq + 1 };
      sessions.insertBranch({ ...place, isUndoable: false }, sessions.known(sessionId));
    }
    return terms.branchId;
  });
  entries.moveBeyond(branchId, forkSeq, sessionId);
  pendingVectors.follow({ from: branchId, to: sessionId });
  sessions.delete(branchId);
  return superseded.map(({ id }) => id);
}

/**
 * Makes the messages after `seqLast` a branch, and puts the forest and the frontier back to where they were when that message was
 * the newest. Call it inside a transaction.
 *
 * It costs what has changed since, and the size of the clusters that steps entered since, because they are made again from all their
 * members. A move of the frontier was noted when it happened, and themes are replayed from a checkpoint.
 */
export function rewindSession(
  repositories: Repositories,
  session: SessionRow,
  seqLast: number,
  terms: RewindTerms,
): Rewound {
  const { sessions, messages, unions, entries, pendingVectors, fullText, frontierMoves, paths } = repositories;
  const { id: sessionId } = session;
  const nextSeq = messages.nextSeq({ sessionId });
  if (seqLast >= nextSeq - 1) return { branchId: null, supersededCount: 0 };
  paths.assertOwn(sessionId, seqLast);
  paths.assertUnshared(sessionId, seqLast, "rewind");

  const generation = repositories.generations.newest()!;
  const { frontier, position } = frontierAt(repositories, session, seqLast, generation);
  const { branchId, nowMs, isUndoable } = terms;
  sessions.insertBranch({ id: branchId, nowMs, seqLast, seqEnd: nextSeq, isUndoable }, session);
  const divided = messages.dividedBy({ sessionId, seqLast });
  const heirs = unions.heirs({ sessionId, seq: frontier.graduatedSeq, position });
  unions.undoOlder(sessionId, seqLast, unions.newestPosition() + 1);
  undoLog(repositories, session, position, terms);

  const ids = messages.supersede(sessionId, seqLast, branchId, divided?.partId);
  if (divided !== undefined) repositories.actions.noteLate([divided.stepId], terms.actionsOf);
  const entryCount = entries.moveBeyond(sessionId, seqLast, branchId);
  pendingVectors.follow({ from: sessionId, to: branchId });
  const isEmpty = ids.length + entryCount === 0;
  if (isEmpty) sessions.delete(branchId); // all later messages were forgotten
  unlessDamaged(fullText, () => fullText.delete(ids));
  leaveSpans(repositories, sessionId, seqLast);

  sessions.moveFrontier(frontier.graduatedSeq, frontier.evictedSeq, sessionId);
  frontierMoves.deleteMovesAfter(sessionId, seqLast + 1);
  if (heirs.length > 0) undoHeirs(repositories, sessionId, new Set(heirs), terms);
  return { branchId: isEmpty ? null : branchId, supersededCount: ids.length };
}

/**
 * Returns the frontier as it was when `seqLast` was the newest seq, and the newest log position that belongs to it.
 *
 * @throws {DamageError} if the store does not say where it was.
 */
export function frontierAt(
  { frontierMoves, unions }: Repositories,
  session: SessionRow,
  seqLast: number,
  generation: GenerationRow,
): { frontier: Frontier; position: number } {
  const noted = frontierMoves.at(session.id, seqLast + 1);
  if (noted !== undefined && noted.logPosition > generation.logPosition) {
    return { frontier: noted, position: noted.logPosition };
  }
  if (noted === undefined && session.graduatedSeq > 0) {
    throw new DamageError(`the moves of the frontier of session ${session.id} are missing`);
  }
  const frontier = noted ?? session;
  const before = unions.positionBefore(session.id, frontier.graduatedSeq);
  return { frontier, position: before ?? unions.newestPosition() };
}

/** Takes back the log after a position, with what was derived from it. */
function undoLog(repositories: Repositories, session: SessionRow, position: number, terms: RewindTerms): void {
  const { messages, unions, clusters, generations, frontierMoves } = repositories;
  const { id: sessionId } = session;
  const rows = unions.after(sessionId, position) as UnionRow[];
  if (rows.length === 0) return;
  const undoneAt = unions.newestPosition() + 1;
  const entries = rows.filter(({ kind }) => kind === "start" || kind === "join");
  leaveSummaries(repositories, sessionId, position, undoneAt, entries);
  const firstSettled = rows.find(({ kind }) => kind === "settle");
  if (firstSettled !== undefined) dissolveSubjects(repositories, session.project, firstSettled.id);
  unions.undoAfter(sessionId, { generation: generations.newest()!.id, position }, undoneAt);

  messages.leaveForest(
    sessionId,
    entries.map(({ node }) => node),
  );
  for (const { kind, node } of rows) if (kind === "unite") messages.setParent(node, node, sessionId);
  const started = new Set(rows.filter(({ kind }) => kind === "start").map(({ root }) => root));
  const touched = new Set(rows.filter(({ kind }) => kind !== "unite").map(({ root }) => root));
  for (const root of touched) {
    if (started.has(root)) clusters.delete(root, sessionId);
    else {
      clusters.put(sessionId, clusterAt(repositories, { sessionId, position }, root, terms));
      clusters.reopen(root, sessionId);
    }
  }
  frontierMoves.deleteCheckpointsAfter(sessionId, position);
  remakeThemes(repositories, sessionId, position);
  unions.reserve(undoneAt);
  generations.countRewrite(); // caches of clusters hold what was taken back
}

/**
 * Takes back steps whose row in the log is older than they are, because they inherited a cluster from a forgotten step. The log
 * is then what it would be if they had never entered, and everything is derived from it again.
 */
function undoHeirs(
  repositories: Repositories,
  sessionId: string,
  heirs: ReadonlySet<number>,
  terms: RewindTerms,
): void {
  const { sessions, messages, unions, generations } = repositories;
  const generation = generations.newest()!.id;
  const log = unions.ofSession(sessionId, generation);
  const remaining = logWithout(log, heirs);
  const kept = new Set(remaining.map((row) => JSON.stringify(row)));
  const gone = log.filter((row) => !kept.has(JSON.stringify(row)));
  const firstSettled = gone.find(({ kind }) => kind === "settle");
  const session = sessions.known(sessionId);
  const undoneAt = unions.newestPosition() + 1;
  if (firstSettled !== undefined) dissolveSubjects(repositories, session.project, firstSettled.id);
  unions.undo(gone, undoneAt);
  unions.replace(sessionId, generation, remaining);
  unions.reserve(undoneAt);
  messages.leaveForest(sessionId, [...heirs]);
  rebuildSession(repositories, sessionId, derivedOf(repositories, session, terms));
}

/** Makes the themes of a session as they were at a log position. */
function remakeThemes(repositories: Repositories, sessionId: string, position: number): void {
  const { themes, frontierMoves } = repositories;
  const { themes: remade, rowCount } = themesAt(repositories, { sessionId, position });
  themes.deleteOf(sessionId);
  for (const theme of remade) themes.put(sessionId, theme);
  if (rowCount < LONG_REPLAY_ROWS) return;
  const graduatedSeq = Math.max(...remade.map(({ theme }) => theme.seqLast)) + 1;
  frontierMoves.putCheckpoint(sessionId, position, graduatedSeq, remade);
}

/** Takes summaries that cover any of the undone steps out of contexts. Others are shown when the frontier moves again. */
function leaveSummaries(
  { summaries }: Repositories,
  sessionId: string,
  position: number,
  undoneAt: number,
  entries: readonly UnionRow[],
): void {
  const entered = new Set(entries.map(({ root }) => root));
  const later = summaries.afterPosition(sessionId, position);
  const leaving = later.filter(({ rootId }) => entered.has(rootId));
  leaveOrDiscard(summaries, leaving, undoneAt);
  summaries.unshow(sessionId, position);
}

/** Takes summaries of spans that hold any of the superseded messages out of contexts. */
function leaveSpans({ summaries, unions }: Repositories, sessionId: string, seqLast: number): void {
  const spans = summaries.reaching(sessionId, seqLast).filter(({ level }) => isSpan(level));
  leaveOrDiscard(summaries, spans, unions.newestPosition() + 1);
}

/** Takes finished summaries out of contexts, and keeps them for `undo`. Discards all others. */
function leaveOrDiscard(
  summaries: SummaryRepository,
  rows: readonly Pick<SummaryRow, "id" | "status">[],
  position: number,
): void {
  const idsOf = (isDone: boolean): number[] =>
    rows.filter(({ status }) => (status === "done") === isDone).map(({ id }) => id);
  summaries.leaveContexts(idsOf(true), position);
  summaries.discard(idsOf(false));
}

/** Returns the seq of the last message that stays. @throws {StoreError} `MESSAGE_NOT_FOUND`, `OPTION_INVALID`. */
export function seqOf({ messages }: Repositories, sessionId: string, to: RewindTarget): number {
  if ("toMessageId" in to) return messages.existing(sessionId, to.toMessageId).seq;
  const nextSeq = messages.nextSeq({ sessionId });
  if (to.toSeq < nextSeq) return to.toSeq;
  const expected = `a seq from -1 to ${nextSeq - 1}, the last of session "${sessionId}"`;
  throw new StoreError("OPTION_INVALID", { option: "toSeq", expected, actual: to.toSeq });
}
