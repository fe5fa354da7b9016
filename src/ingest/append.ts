import { StoreError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { isOverHeld } from "../forest/window.ts";
import type { Embedder } from "../models/embedder.ts";
import type { MessageIdentity, MessageRow } from "../store/messages.ts";
import type { Repositories } from "../store/repositories.ts";
import { advanceOpenStep, loadSessionState, type SessionState } from "../store/session-state.ts";
import { appendMessages, moveFrontier } from "../store/write.ts";
import { type EmbedderTerms, type PressureOptions, planCompactMove, planPressureMove } from "./graduate.ts";

export interface AppendResult {
  messageId: number;
  seq: number;
  /** False where the session already held this very message under this id. */
  appended: boolean;
}

export interface AppendOptions extends PressureOptions {
  /** The place of the first message, where the caller depends on nobody having appended meanwhile. */
  seqExpected: number | undefined;
}

/**
 * Append messages in one transaction: all of them are on disk when this returns, or none.
 *
 * A message whose `id` the session already holds is not appended again; that makes a retry after a crash safe.
 *
 * `state` follows what is written. When this throws, it may be ahead of the file: load it again.
 *
 * @throws {StoreError} `SESSION_CHANGED` if the session's next seq is not `seqExpected`; `MESSAGE_CONFLICT` if an id
 *   stands for another message; `MESSAGE_INVALID` for a pinned result whose call is not pinned; `EMBEDDER_MISMATCH`.
 */
export function append(
  repositories: Repositories,
  state: SessionState,
  rows: readonly MessageRow[],
  options: AppendOptions,
): AppendResult[] {
  const { embedder, seqExpected } = options;
  const results: AppendResult[] = [];
  return appendMessages(repositories, rows, {
    begin() {
      catchUp(repositories, state);
      assertEmbedder(state, embedder);
      if (seqExpected === undefined || seqExpected === state.nextSeq) return;
      throw new StoreError("SESSION_CHANGED", { sessionId: state.sessionId, seqExpected, seqFound: state.nextSeq });
    },
    place(row, id) {
      const known = knownAs(repositories, state.sessionId, row);
      if (known !== undefined) {
        results.push({ messageId: known.id, seq: known.seq, appended: false });
        return undefined;
      }
      const place = placeOf(state, row, id);
      results.push({ messageId: id, seq: place.seq, appended: true });
      follow(state, place, row);
      return place;
    },
    move(position) {
      return planPressureMove(repositories, state, options, position);
    },
    end() {
      return results;
    },
  });
}

/**
 * Bring `state` up to date if another process has written to the session, inside the transaction that is about to write.
 * `data_version` tells cheaply that any other connection has committed; only then the session itself is looked at.
 */
export function catchUp(repositories: Repositories, state: SessionState): void {
  const dataVersion = repositories.database.dataVersion();
  if (dataVersion === state.dataVersion) return;
  const nextSeq = repositories.messages.nextSeq(state.sessionId);
  const session = repositories.sessions.byId(state.sessionId);
  if (nextSeq === state.nextSeq && session?.frontierVersion === state.frontierVersion) {
    // The same object as long as they are the same: what was made with them is then known to hold.
    if (JSON.stringify(session.settings) !== JSON.stringify(state.settings)) state.settings = session.settings;
    state.dataVersion = dataVersion;
    return;
  }
  const current = loadSessionState(repositories, state.sessionId);
  if (current === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: state.sessionId });
  const isMoved = current.frontierVersion !== state.frontierVersion;
  Object.assign(state, current, { foreignMoves: state.foreignMoves + (isMoved ? 1 : 0) });
}

/**
 * Inside a transaction that writes vectors or lets steps into the forest: another process may have grown it again with
 * another embedder since the store was opened.
 *
 * @throws {StoreError} `EMBEDDER_MISMATCH`.
 */
export function assertEmbedder({ embedderId }: Pick<SessionState, "embedderId">, { id }: Pick<Embedder, "id">): void {
  if (embedderId !== id) throw new StoreError("EMBEDDER_MISMATCH", { stored: embedderId, given: id });
}

function knownAs(
  repositories: Repositories,
  sessionId: string,
  row: MessageRow,
): { id: number; seq: number } | undefined {
  if (row.externalId === undefined) return undefined;
  const known = repositories.messages.byExternalId(sessionId, row.externalId);
  if (known !== undefined && !known.digest.equals(row.digest)) {
    throw new StoreError("MESSAGE_CONFLICT", { sessionId, externalId: row.externalId, messageId: known.id });
  }
  return known;
}

function placeOf(state: SessionState, row: MessageRow, id: number): MessageIdentity {
  const { openStep, nextSeq: seq } = state;
  const answersOpenStep =
    openStep !== undefined &&
    row.role === "tool" &&
    row.parts.some((part) => part.type === "tool_result" && openStep.pendingCallIds.has(part.toolCallId));
  if (row.pinned && row.role === "tool" && !(answersOpenStep && openStep.pinned)) {
    const reason = "a result is pinned with its call: pin the assistant message that calls";
    throw new StoreError("MESSAGE_INVALID", { path: "pinned", reason });
  }
  return {
    id,
    sessionId: state.sessionId,
    seq,
    stepId: answersOpenStep ? openStep.id : id,
    turnSeq: row.role === "user" ? seq : state.turnSeq,
    pinned: row.role === "system" || row.pinned || (answersOpenStep && openStep.pinned),
  };
}

function follow(state: SessionState, place: MessageIdentity, row: MessageRow): void {
  // Field by field: spreading `place` would take V8 longer than all the rest here.
  const message: Message = {
    id: place.id,
    sessionId: place.sessionId,
    seq: place.seq,
    stepId: place.stepId,
    turnSeq: place.turnSeq,
    pinned: place.pinned,
    role: row.role,
    parts: row.parts,
    text: row.text,
    tokenCount: row.tokenCount,
    createdAtMs: row.createdAtMs,
  };
  if (row.name !== undefined) message.name = row.name;
  if (row.externalId !== undefined) message.externalId = row.externalId;
  if (row.metadata !== undefined) message.metadata = row.metadata;
  (message.pinned ? state.pinned : state.window).push(message);
  state.nextSeq = place.seq + 1;
  state.turnSeq = place.turnSeq;
  state.openStep = advanceOpenStep(state.openStep, message);
}

/**
 * Move the frontier without an append, as far as the window allows.
 *
 * @returns whether it moved, or a summary came into the context.
 */
export function compact(repositories: Repositories, state: SessionState, embedder: EmbedderTerms): boolean {
  let isMoved = false;
  moveFrontier(repositories, state.sessionId, (position) => {
    catchUp(repositories, state);
    assertEmbedder(state, embedder);
    const move = planCompactMove(repositories, state, embedder.similarityMin, position);
    isMoved = move !== undefined;
    return move;
  });
  return isMoved;
}

/**
 * Move the frontier of a session whose window holds more than vectors that are due may make it hold, now that they have
 * come: left to the next append, thousands of messages would go into the forest in that one.
 *
 * @returns whether it moved.
 */
export function relieve(repositories: Repositories, sessionId: string, options: PressureOptions): boolean {
  if (!repositories.database.read(() => isOverfull(repositories, sessionId))) return false;
  let isMoved = false;
  moveFrontier(repositories, sessionId, (position) => {
    const state = loadSessionState(repositories, sessionId);
    if (state === undefined) return undefined;
    assertEmbedder(state, options.embedder);
    const move = planPressureMove(repositories, state, options, () => position);
    isMoved = move !== undefined;
    return move;
  });
  return isMoved;
}

function isOverfull({ sessions, messages }: Repositories, sessionId: string): boolean {
  const session = sessions.byId(sessionId);
  return (
    session !== undefined && isOverHeld(messages.windowFrom(sessionId, session.evictedSeq).length, session.settings)
  );
}
