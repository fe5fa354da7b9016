import { setImmediate } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import { VECTOR_WAIT_IDLE_MS_MAX } from "../core/limits.ts";
import { changeSession, loadSessionState, type Repositories, type SessionState } from "../store/index.ts";
import { assertEmbedder, caughtUp } from "./append.ts";
import { type Changed, type EmbedderTerms, planCompactMove, planIdleMove, planPressureMove } from "./graduate.ts";

const PAGE_SESSIONS = 500;

/** Moves the frontier as far as the window allows, and shows finished summaries. The result is false if nothing changed. */
export function compact(repositories: Repositories, known: SessionState, embedder: EmbedderTerms): Changed<boolean> {
  return changeSession(repositories, "compact", (session) => {
    const state = caughtUp(repositories, known);
    assertEmbedder(state, embedder);
    const planned = planCompactMove(repositories, state, embedder.similarityMin);
    if (planned === undefined) return { state, result: false };
    session.move(planned.result);
    repositories.awake.sleep([state.sessionId]); // a move wakes it, although nothing may be left to do
    return { state: planned.state, result: true };
  });
}

/**
 * Moves the frontier after vectors were stored, so that the next append does not move it by thousands of messages.
 * @returns false if nothing changed.
 */
export function moveAfterVectors(
  repositories: Repositories,
  sessionId: string,
  embedder: EmbedderTerms,
  clock: Clock,
): boolean {
  return changeSession(repositories, "compact", (session) => {
    const state = loadSessionState(repositories, sessionId);
    if (state === undefined) return false;
    assertEmbedder(state, embedder);
    const planned = planPressureMove(repositories, state, embedder.similarityMin, clock);
    if (planned !== undefined) session.move(planned.result);
    return planned !== undefined;
  });
}

export interface IdleOptions {
  embedder: EmbedderTerms;
  nowMs: number;
  isSpared: (sessionId: string) => boolean;
  /** Called after each session whose frontier moved. Its state in memory is then out of date. */
  onMoved: () => void;
  signal: AbortSignal;
}

/**
 * Moves the frontier of every idle session, and lets those sleep that need no more moves. A damaged session is skipped; `verify`
 * reports it.
 *
 * @throws the signal's reason if it is aborted. Moves that were made stay.
 */
export async function moveIdleSessions(repositories: Repositories, options: IdleOptions): Promise<void> {
  const { embedder, nowMs, isSpared, onMoved, signal } = options;
  for (let after: string | undefined = ""; after !== undefined; ) {
    signal.throwIfAborted();
    const from: string = after;
    const { database, awake } = repositories;
    const { due, done, last } = database.read(() => awake.page(nowMs, from, PAGE_SESSIONS));
    for (const sessionId of due.filter((id) => !isSpared(id))) {
      try {
        if (moveIdleSession(repositories, sessionId, embedder, nowMs)) onMoved();
      } catch (error) {
        if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
      }
      await setImmediate();
      signal.throwIfAborted();
    }
    if (done.length > 0) database.write("upkeep", () => awake.sleep(done));
    after = last;
    if (after !== undefined) await setImmediate();
  }
}

/**
 * Lets all steps of an idle session except the newest graduate, so that recall finds the session by its clusters.
 * Contexts stay the same. If the session has been silent for longer than it lasted, its open clusters settle (see
 * `forest/DESIGN.md`). Nothing moves while the session waits for a vector, for thirty days at most.
 *
 * @returns false if nothing changed.
 */
function moveIdleSession(
  repositories: Repositories,
  sessionId: string,
  embedder: EmbedderTerms,
  nowMs: number,
): boolean {
  return changeSession(repositories, "compact", (session) => {
    // Another process may have appended since the session was found idle.
    const { isIdle, isOver } = repositories.awake.idleness(sessionId, nowMs);
    const due = repositories.pendingVectors.firstDue(sessionId, nowMs - VECTOR_WAIT_IDLE_MS_MAX);
    const state = isIdle && due === undefined ? loadSessionState(repositories, sessionId) : undefined;
    if (state === undefined) return false;
    assertEmbedder(state, embedder);
    const planned = planIdleMove(repositories, state, embedder.similarityMin, isOver);
    if (planned !== undefined) session.move(planned.result);
    repositories.awake.sleep([sessionId]);
    return planned !== undefined;
  });
}
