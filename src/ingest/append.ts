import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { originKeys } from "../core/remembered.ts";
import { isInjected, textOf } from "../core/text.ts";
import {
  advanceOpenStep,
  changeSession,
  type FrontierMove,
  loadSessionState,
  type MessageRow,
  type Repositories,
  type SessionState,
} from "../store/index.ts";
import { type Changed, type EmbedderTerms, planPressureMove, prepareMove } from "./graduate.ts";

export interface AppendResult {
  messageId: number;
  seq: number;
  /**
   * False if the session already held this message under its id, or if it was forgotten under this id. Then its id and seq are
   * returned. If another session forgot it, and its id is one that no two messages have, such as a UUID, they are 0 and -1.
   */
  appended: boolean;
}

export interface AppendOptions<Row = MessageRow> {
  /** Called with each message that is new, and the row that was given for it. */
  onInsert?: (message: Message, row: Row) => void;
  /** Returns the embedder in use at a data version. */
  placingAt: (dataVersion: number) => EmbedderTerms;
  clock: Clock;
  /** The seq that the first message must get; undefined if any will do. */
  seqExpected: number | undefined;
}

/**
 * Appends messages in one transaction: when this returns, all of them are stored, or none. If the window is then under
 * pressure, the frontier moves. A message whose `id` the session holds is not appended again, so a caller may retry
 * after a crash.
 *
 * If this throws, load the session again, because steps may be placed that are not stored.
 *
 * @throws {StoreError} `SESSION_CHANGED` if the session's next seq is not `seqExpected`; `MESSAGE_CONFLICT` if the
 * session holds or has forgotten another message with an id; `MESSAGE_INVALID` for a pinned result whose call is not pinned;
 * `EMBEDDER_MISMATCH`.
 */
export function append<Row extends MessageRow>(
  repositories: Repositories,
  known: SessionState,
  rows: readonly Row[],
  { placingAt, clock, seqExpected, onInsert }: AppendOptions<Row>,
): Changed<AppendResult[]> {
  return changeSession(repositories, "append", (session) => {
    let state = caughtUp(repositories, known);
    const embedder = placingAt(state.dataVersion);
    assertEmbedder(state, embedder);
    if (seqExpected !== undefined && seqExpected !== state.nextSeq) {
      throw new StoreError("SESSION_CHANGED", { sessionId: state.sessionId, seqExpected, seqFound: state.nextSeq });
    }
    if (state.isForestUnwritten) {
      session.keepForest(state.sessionId);
      state = { ...state, isForestUnwritten: false };
    }
    let idLast = repositories.messages.lastId();
    const hasNames = rows.some(({ externalId }) => externalId !== undefined);
    const forgottenMessage = hasNames ? forgottenMessagesOf(repositories, state) : () => undefined;
    const moves: FrontierMove[] = [];
    const result = rows.map((given) => {
      const row = withoutInjectedResults(given, state);
      const known = knownMessage(repositories, state.sessionId, row) ?? forgottenMessage(row);
      if (known !== undefined) return { messageId: known.id, seq: known.seq, appended: false };
      idLast += 1;
      const message = messageOf(state, row, idLast);
      session.insert(message, row);
      onInsert?.(message, given);
      state = follow(state, message);
      const planned = planPressureMove(repositories, state, embedder.similarityMin, clock);
      if (planned !== undefined) {
        session.log(planned.result);
        moves.push(planned.result);
        state = planned.state;
      }
      return { messageId: message.id, seq: message.seq, appended: true };
    });
    session.grow(moves);
    const hasMovedLast = moves.at(-1)?.seqEnd === state.nextSeq;
    if (result.at(-1)?.appended && !hasMovedLast) state = prepareMove(repositories, state, embedder.similarityMin);
    return { state, result };
  });
}

/** Appends to a branch, where it waits with the other superseded messages. @throws {StoreError} `EMBEDDER_MISMATCH`. */
export function appendToBranch(
  repositories: Repositories,
  branchId: string,
  row: MessageRow,
  embedder: EmbedderTerms,
): AppendResult {
  const { messages, sessions, generations } = repositories;
  return changeSession(repositories, "append", (session) => {
    assertEmbedder(generations.newest()!, embedder);
    const nextSeq = messages.nextSeq({ sessionId: branchId });
    const turnSeq = messages.lastOf(branchId)?.turnSeq ?? -1;
    const place = { sessionId: branchId, nextSeq, turnSeq, openStep: undefined };
    const message = messageOf(place, row, messages.lastId() + 1);
    session.insert(message, row);
    sessions.moveFrontier(nextSeq + 1, nextSeq + 1, branchId);
    return { messageId: message.id, seq: nextSeq, appended: true };
  });
}

/**
 * Returns the session as it is now, if another process may have written to it. Call it inside the transaction that will
 * write. Nothing is read unless `data_version` shows that another connection has committed.
 */
export function caughtUp(repositories: Repositories, state: SessionState): SessionState {
  const dataVersion = repositories.database.dataVersion();
  if (dataVersion === state.dataVersion) return state;
  const { messages, sessions } = repositories;
  const nextSeq = messages.nextSeq({ sessionId: state.sessionId });
  const newestId = messages.lastOf(state.sessionId)?.id ?? 0;
  const row = sessions.byId(state.sessionId);
  // Callers compare parts by identity, so equal settings must stay the same object.
  const isSame = JSON.stringify(row?.settings) === JSON.stringify(state.settings);
  const settings = row === undefined || isSame ? state.settings : row.settings;
  const { nextSeq: seqBefore, newestId: idBefore, frontierVersion: versionBefore } = state;
  if (nextSeq === seqBefore && newestId === idBefore && row?.frontierVersion === versionBefore) {
    return { ...state, settings, hasTombstones: repositories.tombstones.hasAny(), dataVersion };
  }
  const current = loadSessionState(repositories, state.sessionId);
  if (current === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: state.sessionId });
  // A session that was forgotten and has begun again may have the same numbers, but none of the messages.
  const isAnother = idBefore > 0 && !messages.isStored(idBefore);
  const { foreignMoves, nextMove, loadedSeq, openClusters, themes } = state;
  if (isAnother || current.frontierVersion !== versionBefore) return { ...current, foreignMoves: foreignMoves + 1 };
  return { ...current, settings, foreignMoves, nextMove, loadedSeq, openClusters, themes };
}

/**
 * Asserts that this embedder is in use. Call it inside each transaction that moves the frontier, because another
 * process may have run `reembed`. @throws {StoreError} `EMBEDDER_MISMATCH`.
 */
export function assertEmbedder({ embedderId }: Pick<SessionState, "embedderId">, { id }: EmbedderTerms): void {
  if (embedderId !== id) throw new StoreError("EMBEDDER_MISMATCH", { stored: embedderId, given: id });
}

function knownMessage(
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

const FORGOTTEN_ELSEWHERE = { id: 0, seq: -1 };

/** Returns a function that finds a forgotten message by its id. Few sessions have any, so the others pay for one look-up. */
function forgottenMessagesOf(
  { tombstones }: Repositories,
  { sessionId, nextSeq, hasTombstones }: SessionState,
): (row: MessageRow) => { id: number; seq: number } | undefined {
  const elsewhere = ({ externalId, digest }: MessageRow) =>
    hasTombstones && tombstones.hasCopy(originKeys({ externalId }), () => digest) ? FORGOTTEN_ELSEWHERE : undefined;
  if (tombstones.forgottenBefore(sessionId, nextSeq) === undefined) return elsewhere;
  const { hasContent } = tombstones.recognizersIn(sessionId);
  return (row) => {
    const { externalId, digest } = row;
    const forgotten = externalId === undefined ? undefined : tombstones.forgottenMessage(sessionId, externalId);
    if (forgotten === undefined) return elsewhere(row);
    if (hasContent(digest)) return forgotten;
    const details = { sessionId, externalId: externalId!, messageId: forgotten.id, isForgotten: true };
    throw new StoreError("MESSAGE_CONFLICT", details);
  };
}

/**
 * Leaves the results of injected calls out of a row's text. The row then has no vector, because vectors are computed before a
 * transaction.
 */
function withoutInjectedResults(row: MessageRow, { openStep }: SessionState): MessageRow {
  const callIds = openStep?.injectedCallIds;
  if (row.role !== "tool" || callIds === undefined || callIds.size === 0) return row;
  const said = row.parts.filter((part) => part.type !== "tool_result" || !callIds.has(part.toolCallId));
  if (said.length === row.parts.length) return row;
  return { ...row, text: textOf(said), embedding: undefined, embedderId: undefined, vectorDueSinceMs: undefined };
}

/** Returns true for a message that opens a turn: one of the user that is not only injected. */
function opensTurn({ role, parts }: MessageRow): boolean {
  return role === "user" && (parts.length === 0 || !parts.every(isInjected));
}

function messageOf(
  { sessionId, openStep, nextSeq: seq, turnSeq }: Pick<SessionState, "sessionId" | "openStep" | "nextSeq" | "turnSeq">,
  row: MessageRow,
  id: number,
): Message {
  const answersOpenStep =
    openStep !== undefined &&
    row.role === "tool" &&
    row.parts.some((part) => part.type === "tool_result" && openStep.pendingCallIds.has(part.toolCallId));
  const isCallPinned = answersOpenStep && openStep.pinned;
  if (row.pinned && row.role === "tool" && !isCallPinned) {
    const reason = "a result is pinned with its call: pin the assistant message that calls";
    throw new StoreError("MESSAGE_INVALID", { path: "pinned", reason });
  }
  const message: Message = {
    id,
    sessionId,
    seq,
    stepId: answersOpenStep ? openStep.id : id,
    turnSeq: opensTurn(row) ? seq : turnSeq,
    pinned: row.role === "system" || row.pinned || isCallPinned,
    role: row.role,
    parts: row.parts,
    text: row.text,
    tokenCount: row.tokenCount,
    createdAtMs: row.createdAtMs,
  };
  if (row.name !== undefined) message.name = row.name;
  if (row.externalId !== undefined) message.externalId = row.externalId;
  if (row.metadata !== undefined) message.metadata = row.metadata;
  return message;
}

export function follow(state: SessionState, message: Message): SessionState {
  const { id: newestId, seq, turnSeq } = message;
  const openStep = advanceOpenStep(state.openStep, message);
  const list = message.pinned ? "pinned" : "window";
  return { ...state, nextSeq: seq + 1, newestId, turnSeq, openStep, [list]: [...state[list], message] };
}
