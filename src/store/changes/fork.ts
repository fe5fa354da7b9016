import { StoreError } from "../../core/errors.ts";
import type { Repositories } from "../repositories.ts";
import { frontierAt, type RewindTarget, seqOf } from "./rewind.ts";

export interface ForkTerms {
  id: string;
  /** By default that of the session. */
  title: string | undefined;
  nowMs: number;
}

/**
 * Forks a session: begins another one that shares its messages up to one of them, and the forest as it was then.
 *
 * Nothing is copied: a fork has a row for each session that it shares. Its open clusters and themes are those of the newest of
 * these until its own frontier moves (see `keepForest`). If that session has moved since, readers make them from the log (see
 * `PastForests`), and the first append to the fork writes them.
 *
 * @throws {StoreError} `SESSION_NOT_FOUND`, `MESSAGE_NOT_FOUND`; `OPTION_INVALID` for an id that is taken, and for a message that a
 *   fork cannot begin after.
 */
export function fork(
  repositories: Repositories,
  sessionId: string,
  at: RewindTarget | undefined,
  terms: ForkTerms,
): void {
  const { database, sessions, messages, unions, paths, generations, frontierMoves, tombstones } = repositories;
  database.write("fork", () => {
    const session = sessions.existing(sessionId);
    if (sessions.byId(terms.id) !== undefined) {
      throw new StoreError("OPTION_INVALID", { option: "id", expected: "an id that no session has", actual: terms.id });
    }
    const seqLast = at === undefined ? messages.nextSeq({ sessionId }) - 1 : seqOf(repositories, sessionId, at);
    if (seqLast < 0) refuse("a session and a message of it; `store.session` begins an empty session", seqLast);
    assertStepEnds(repositories, sessionId, seqLast);

    const past = paths.pieces(sessionId, 0, seqLast);
    const newest = past.at(-1)!;
    const holder = sessions.known(newest.sessionId);
    const { frontier, position } = frontierAt(repositories, holder, seqLast, generations.newest()!);
    const range = { sessionId: holder.id, seq: frontier.graduatedSeq, position };
    // Only forgetting makes heirs, and to look for them takes as long as the session has messages after this one.
    const hasForgotten = tombstones.forgottenBefore(holder.id, Number.MAX_SAFE_INTEGER) !== undefined;
    if (hasForgotten && unions.heirs(range).length > 0) {
      refuse(
        "a later message, because messages before this one were forgotten, and later ones took their places",
        seqLast,
      );
    }
    const { project, settings } = session;
    const title = terms.title ?? session.title;
    const place = { id: terms.id, parentSessionId: sessionId, forkSeq: seqLast, createdAtMs: terms.nowMs };
    sessions.insert({ ...place, project, title, settings });
    sessions.moveFrontier(frontier.graduatedSeq, frontier.evictedSeq, terms.id);
    paths.share(terms.id, past.with(-1, { ...newest, logPosition: position }));
    // The holder may move again before its next message, and then notes only the later move.
    const { graduatedSeq, evictedSeq } = frontier;
    frontierMoves.begin({ sessionId: terms.id, seqEnd: seqLast + 1, graduatedSeq, evictedSeq, logPosition: position });
  });
}

/** @throws {StoreError} `OPTION_INVALID` if the step of the last message goes on after it, or still waits for results. */
function assertStepEnds({ messages }: Repositories, sessionId: string, seqLast: number): void {
  for (let seq = seqLast; seq >= 0; seq--) {
    const [last] = messages.range(sessionId, seq, seq);
    // Results without a call, and system messages, do not end a step.
    if (last === undefined || last.role === "system" || (last.role === "tool" && last.stepId === last.id)) continue;
    const step = messages.ofSteps([last.stepId]);
    const open = new Set<string>();
    for (const { parts } of step) {
      for (const part of parts) {
        if (part.type === "tool_call") open.add(part.toolCallId);
        else if (part.type === "tool_result") open.delete(part.toolCallId);
      }
    }
    if (open.size === 0 && step.every((message) => message.seq <= seqLast)) return;
    refuse("the last message of a step whose tool calls are all answered", seqLast);
  }
}

function refuse(expected: string, actual: number): never {
  throw new StoreError("OPTION_INVALID", { option: "the seq of the last message to share", expected, actual });
}
