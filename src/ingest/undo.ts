import type { Clock } from "../core/clock.ts";
import type { TranscriptPoint } from "../core/transcript-point.ts";
import { actionsOfStep } from "../models/actions.ts";
import { searchWords } from "../models/search-words.ts";
import {
  changeSession,
  loadSessionState,
  type Repositories,
  type RewindTerms,
  restoreSummaries,
  rewindSession,
  type SessionWrites,
  takeBack,
} from "../store/index.ts";
import { assertEmbedder, follow } from "./append.ts";
import { type EmbedderTerms, planPressureMove, prepareMove } from "./graduate.ts";

export interface UndoOptions {
  embedder: EmbedderTerms;
  clock: Clock;
  terms: Omit<RewindTerms, "isUndoable">;
}

export interface Undone {
  restoredCount: number;
  supersededCount: number;
}

/**
 * Takes the last rewind back. What was appended since becomes a branch, and the superseded messages come back with their ids. They
 * enter the forest as if they were appended now, which takes about half the time of appending them. Their summaries come back, too.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND`, `EMBEDDER_MISMATCH`.
 */
export function undo(repositories: Repositories, sessionId: string, { embedder, clock, terms }: UndoOptions): Undone {
  const { sessions } = repositories;
  return changeSession(repositories, "append", (session) => {
    const row = sessions.existing(sessionId);
    const branch = sessions.newestRewind(sessionId);
    if (branch === undefined) return { restoredCount: 0, supersededCount: 0 };
    const { supersededCount } = rewindSession(repositories, row, branch.forkSeq, { ...terms, isUndoable: false });
    const restoredCount = bringBack(repositories, session, branch, sessionId, { embedder, clock, terms });
    return { restoredCount, supersededCount };
  });
}

/**
 * Puts the messages of a branch back to the end of their session, which must be where the branch begins. The messages enter the
 * forest as if they were appended now. Call it inside a transaction.
 *
 * @returns how many they are. @throws {StoreError} `EMBEDDER_MISMATCH`.
 */
export function bringBack(
  repositories: Repositories,
  session: SessionWrites,
  branch: { id: string; forkSeq: number },
  sessionId: string,
  { embedder, clock, terms }: UndoOptions,
): number {
  const { messages, fullText } = repositories;
  let state = loadSessionState(repositories, sessionId)!;
  assertEmbedder(state, embedder);
  const indexedTo = fullText.newestId();
  const ids = takeBack(repositories, branch, sessionId, terms, (id, stepId, calls) => {
    const { openStep } = state;
    const isAnswer = openStep !== undefined && calls.some((call) => openStep.pendingCallIds.has(call));
    messages.place(id, sessionId, isAnswer ? openStep.id : stepId);
    state = follow(state, messages.byId(id)!);
    const planned = planPressureMove(repositories, state, embedder.similarityMin, clock);
    if (planned !== undefined) session.move(planned.result);
    state = planned?.state ?? prepareMove(repositories, state, embedder.similarityMin);
  });
  restoreSummaries(repositories, sessionId);
  repositories.actions.noteLate(ids, actionsOfStep);
  const indexed = ids.filter((id) => id <= indexedTo);
  for (const { id, text } of [...fullText.texts(indexed)]) fullText.insert(id, searchWords(text));
  return ids.length;
}

export interface FollowOptions extends Omit<UndoOptions, "terms"> {
  /** Called for each rewind, because each needs another branch id. */
  newTerms: () => UndoOptions["terms"];
}

/**
 * Moves a session to a point in its transcript: supersedes the messages after the point, and restores superseded messages before
 * it. Call it inside a transaction.
 *
 * Only messages of the transcript make the session go back. What the user of the store has superseded stays superseded. `undo`
 * cannot take this back, nor any earlier rewind that began after the point.
 *
 * @returns false if the session was already at the point. @throws {StoreError} `EMBEDDER_MISMATCH`.
 */
export function followTranscript(
  repositories: Repositories,
  sessionId: string,
  point: TranscriptPoint,
  { newTerms, ...options }: FollowOptions,
): boolean {
  const { sessions, messages } = repositories;
  return changeSession(repositories, "append", (writes) => {
    let isMoved = false;
    const { seqLast, branches } = lastBefore(repositories, sessionId, point);
    let seq = seqLast;
    for (const { branchId, forkSeq, newestId } of branches) {
      if (forkSeq < seq) break;
      // If messages before the branch were forgotten, other messages may have taken their seqs.
      const before = messages.namesAfter(sessionId, seq).filter((one) => one.seq <= forkSeq);
      cut(before.some(({ externalId }) => isElsewhere(externalId)) ? seq : forkSeq);
      if (messages.namesAfter(sessionId, forkSeq).length === 0) goBack(forkSeq); // forgotten messages have seqs, too
      messages.copyForgotten(sessionId, forkSeq);
      if (messages.nextSeq({ sessionId }) !== forkSeq + 1) break;
      if (answersNewerCall(repositories, sessionId, { branchId, forkSeq })) break;
      bringBack(repositories, writes, { id: branchId, forkSeq }, sessionId, { ...options, terms: newTerms() });
      seq = messages.byExternalId(sessionId, newestId)!.seq;
    }
    cut(seq);
    return isMoved;

    function isElsewhere(externalId: string | null): boolean {
      return externalId !== null && point.isElsewhere(externalId);
    }

    function cut(seqLast: number): void {
      const names = messages.namesAfter(sessionId, seqLast).map(({ externalId }) => externalId);
      const isKnown = names.every((name) => name !== null && point.isInTranscript(name));
      if (names.length > 0 && (point.isEnd ? isKnown : names.some(isElsewhere))) goBack(seqLast);
    }

    function goBack(seqLast: number): void {
      sessions.endUndoAfter(sessionId, seqLast);
      rewindSession(repositories, sessions.known(sessionId), seqLast, { ...newTerms(), isUndoable: false });
      isMoved = true;
    }
  });
}

/**
 * Returns true if a branch has results of a call that the session got later. They cannot come back: a step is named after its
 * first message, which is its oldest.
 */
function answersNewerCall(
  repositories: Repositories,
  sessionId: string,
  { branchId, forkSeq }: Omit<EarlierBranch, "newestId">,
): boolean {
  const { openStep } = loadSessionState(repositories, sessionId)!;
  if (openStep === undefined) return false;
  return repositories.messages.range(branchId, forkSeq + 1, Number.MAX_SAFE_INTEGER).some(({ id, parts }) => {
    const isAnswer = parts.some((part) => part.type === "tool_result" && openStep.pendingCallIds.has(part.toolCallId));
    return isAnswer && id < openStep.id;
  });
}

/** A branch to bring back, up to its message `newestId`. */
interface EarlierBranch {
  branchId: string;
  forkSeq: number;
  newestId: string;
}

/** Returns the seq of the session's newest message before a point, or -1, and the branches between the two, oldest first. */
function lastBefore(
  { sessions, messages }: Repositories,
  sessionId: string,
  { before, isInTranscript }: TranscriptPoint,
): { seqLast: number; branches: EarlierBranch[] } {
  const branches: EarlierBranch[] = [];
  for (const newestId of before) {
    const known = messages.byExternalId(sessionId, newestId);
    if (known !== undefined) return { seqLast: known.seq, branches };
    const superseded = sessions.superseded(sessionId, newestId);
    if (superseded === undefined || superseded.isUndoable || superseded.branchId === branches[0]?.branchId) continue;
    branches.unshift({ branchId: superseded.branchId, forkSeq: superseded.forkSeq, newestId });
  }
  // Another file may have brought messages before the first of this transcript.
  const names = messages.namesAfter(sessionId, -1);
  const first = names.findIndex(({ externalId }) => externalId !== null && isInTranscript(externalId));
  const last = first === -1 ? names.at(-1) : names[first - 1];
  return { seqLast: last?.seq ?? -1, branches };
}
