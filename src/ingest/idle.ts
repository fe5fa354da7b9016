import { setImmediate } from "node:timers/promises";
import { StoreError } from "../core/errors.ts";
import { VECTOR_WAIT_MS_MAX } from "../core/limits.ts";
import type { Repositories } from "../store/repositories.ts";
import { loadSessionState } from "../store/session-state.ts";
import { moveFrontier } from "../store/write.ts";
import { assertEmbedder } from "./append.ts";
import { type EmbedderTerms, planIdleMove } from "./graduate.ts";

/** Sessions looked at in one go. */
const PAGE_SESSIONS = 500;

export interface IdleOptions {
  /** That the messages were embedded with. */
  embedder: EmbedderTerms;
  /** Unix milliseconds: a session rests whose newest message is a day older. */
  nowMs: number;
}

/**
 * Let every session rest that is due. One that is damaged is left alone: `verify` names it.
 *
 * @param options.isSpared  Which sessions to leave alone.
 * @param options.onMoved  Called after each session that moved: what is in memory of it is out of date.
 * @throws the signal's reason if it is aborted; the sessions that rest by then do.
 */
export async function idleSessions(
  repositories: Repositories,
  options: IdleOptions & { isSpared: (sessionId: string) => boolean; signal: AbortSignal; onMoved: () => void },
): Promise<void> {
  const { signal, nowMs, isSpared, onMoved } = options;
  for (let after: string | undefined = ""; after !== undefined; ) {
    signal.throwIfAborted();
    const from: string = after;
    const { due, last } = repositories.database.read(() => repositories.sessions.idlePage(nowMs, from, PAGE_SESSIONS));
    for (const sessionId of due.filter((id) => !isSpared(id))) {
      try {
        if (idleSession(repositories, sessionId, options)) onMoved();
      } catch (error) {
        if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
      }
      await setImmediate();
      signal.throwIfAborted();
    }
    after = last;
    if (after !== undefined) await setImmediate();
  }
}

/**
 * Let a session come to rest: all but its newest step enter the forest, so that the index knows what it was about. Once it
 * has been silent for longer than it lasted, every open cluster settles, so that subjects know it, too; messages that come
 * later then start clusters of their own. What a context shows word for word stays.
 *
 * Were the clusters to settle with each rest, whoever speaks once in two days would have one for every message. So the
 * times at which they settle are spread: of a session that goes on forever at any even pace they are as few as its age can
 * be doubled.
 *
 * A session with a message that has waited for its vector for less than thirty days (`VECTOR_WAIT_MS_MAX`) goes on waiting.
 *
 * One transaction, in which it is asked again whether the session is due: another process may have appended to it.
 *
 * @returns whether there was anything to do.
 */
export function idleSession(repositories: Repositories, sessionId: string, { embedder, nowMs }: IdleOptions): boolean {
  let moved = false;
  moveFrontier(repositories, sessionId, (position) => {
    const { isIdle, isOver } = repositories.sessions.idleness(sessionId, nowMs);
    const isWaiting = repositories.pendingVectors.firstDueSince(sessionId, nowMs - VECTOR_WAIT_MS_MAX) !== undefined;
    const state = isIdle && !isWaiting ? loadSessionState(repositories, sessionId) : undefined;
    if (state === undefined) return undefined;
    assertEmbedder(state, embedder);
    const move = planIdleMove(repositories, state, embedder.similarityMin, position, isOver);
    moved = move !== undefined;
    return move;
  });
  return moved;
}
