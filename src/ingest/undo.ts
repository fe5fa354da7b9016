import type { Clock } from "../core/clock.ts";
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
 * Takes the last rewind back. What was appended since becomes a branch, and the superseded messages come back with their ids and their
 * summaries, in about half the time of appending them. @throws {StoreError} `SESSION_NOT_FOUND`, `EMBEDDER_MISMATCH`.
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

/** Puts the messages of a branch back to the end of their session, where it began, as if appended now. @throws {StoreError} `EMBEDDER_MISMATCH`. */
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
