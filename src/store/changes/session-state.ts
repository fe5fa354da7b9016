import { DamageError } from "../../core/damage.ts";
import type { Message } from "../../core/message.ts";
import type { SessionSettings } from "../../core/options.ts";
import { isInjected } from "../../core/text.ts";
import type { OpenCluster } from "../../forest/cluster.ts";
import type { GrowingTheme } from "../../forest/growing-forest.ts";
import type { StepPlacer } from "../../forest/step-placer.ts";
import type { TitledMessage } from "../facts/messages.ts";
import type { Repositories } from "../repositories.ts";

export interface OpenStep {
  id: number;
  pinned: boolean;
  pendingCallIds: Set<string>;
  /** The calls that are injected, such as Coppice's own. Their results are injected too. */
  injectedCallIds: ReadonlySet<string>;
}

/** What the title of an open cluster is made of. */
export interface TitleSource {
  /** The beginnings of its messages, in log order. */
  messages: TitledMessage[];
  /** The user's message that began the turn of its root. */
  asked: TitledMessage | undefined;
}

/**
 * The next move of the frontier, as far as it is decided. Steps that will certainly be in it are placed while messages are
 * appended, so that the move itself is short. Nothing of this is stored before the move, and anyone may drop it.
 */
export interface NextMove {
  placer: StepPlacer;
  /** Unpinned messages from the frontier up to before this seq are placed. */
  seqEnd: number;
  /** The seq of the last message that entered the forest; -1 if none did. */
  seqLast: number;
  /** The clusters that steps entered, by root. The title is that of the messages that are placed when it is first asked for. */
  entered: Map<number, { cluster: OpenCluster; label: () => string }>;
  /** Messages that enter before their vectors came. */
  vectorless: number[];
  /** The open clusters that steps entered last, by root. */
  titles: Map<number, TitleSource>;
}

/**
 * A session in memory: its window, open clusters and themes. It does not grow with the history. All of it comes from
 * rows, so a session continues in another process exactly as in this one.
 *
 * It is a snapshot: a change makes another one, and parts that stay are the same objects. So what was made of a part is right as
 * long as the part is the same.
 */
export interface SessionState {
  readonly sessionId: string;
  /** The connection's `data_version` when this state was last known to be current. */
  readonly dataVersion: number;
  readonly settings: SessionSettings;
  /** True if anything was forgotten in the store. */
  readonly hasTombstones: boolean;
  /** How often the session was loaded again because another process moved the frontier or forgot messages. */
  readonly foreignMoves: number;
  readonly dimension: number;
  readonly embedderId: string;
  readonly frontierVersion: number;
  readonly nextSeq: number;
  /** The id of the newest message; 0 if there is none. */
  readonly newestId: number;
  /** The seq of the newest user message; -1 before the first. */
  readonly turnSeq: number;
  readonly openStep: OpenStep | undefined;
  readonly graduatedSeq: number;
  readonly evictedSeq: number;
  readonly pinned: readonly Message[];
  /** The messages from `evictedSeq` on, in order and without pinned ones. */
  readonly window: readonly Message[];
  /** Oldest root first. */
  readonly openClusters: readonly OpenCluster[];
  /** Keyed by root. */
  readonly themes: ReadonlyMap<number, GrowingTheme>;
  /** Unlike the rest, it changes in place. So a session whose change has failed is loaded again. */
  readonly nextMove: NextMove | undefined;
  /** True if the open clusters and the themes are no rows yet: see `PastForests`. */
  readonly isForestUnwritten: boolean;
  /** The next seq when the session was loaded, or another process last moved its frontier. */
  readonly loadedSeq: number;
}

/** Call it inside a transaction. @throws {DamageError} if something of the session is missing. */
export function loadSessionState(repositories: Repositories, sessionId: string): SessionState | undefined {
  const { sessions, messages, clusters, themes, generations } = repositories;
  const row = sessions.byId(sessionId);
  const generation = generations.newest();
  if (row === undefined || row.supersededAtMs !== null || generation === undefined) return undefined;
  if (row.forkSeq !== null) repositories.paths.assertPast(sessionId);
  const last = messages.lastOf(sessionId);
  const states = themes.ofSession(sessionId);
  if (states.length === 0 && repositories.unions.lastPosition(sessionId) > 0) {
    throw new DamageError(`the themes of session "${sessionId}" are missing`);
  }
  const nextSeq = messages.nextSeq({ sessionId });
  const seqEnd = messages.seqEnd({ sessionId });
  if (nextSeq < seqEnd) {
    throw new DamageError(
      `messages of session "${sessionId}" are missing: the newest is at ${nextSeq - 1}, and others are before ${seqEnd}`,
    );
  }
  const inThemes = states.reduce((sum, { theme }) => sum + theme.messageCount, 0);
  messages.assertInThemes(sessionId, row.graduatedSeq, inThemes);
  const pinned = messages.pinnedOf(sessionId);
  const window = messages.unpinnedFrom(sessionId, row.evictedSeq);
  return {
    sessionId,
    dataVersion: repositories.database.dataVersion(),
    settings: row.settings,
    hasTombstones: repositories.tombstones.hasAny(),
    foreignMoves: 0,
    dimension: generation.dimension,
    embedderId: generation.embedderId,
    frontierVersion: row.frontierVersion,
    nextSeq,
    newestId: last?.id ?? 0,
    turnSeq: last?.turnSeq ?? -1,
    openStep: openStepOf(pinned, window),
    graduatedSeq: row.graduatedSeq,
    evictedSeq: row.evictedSeq,
    pinned,
    window,
    openClusters: clusters.open(sessionId).map(({ cluster }) => cluster),
    themes: new Map(states.map((state) => [state.theme.root, state])),
    nextMove: undefined,
    isForestUnwritten: repositories.paths.grower(sessionId) === undefined,
    loadedSeq: nextSeq,
  };
}

/** Returns the step that is open after a new message. A user or assistant message closes the open step. */
export function advanceOpenStep(open: OpenStep | undefined, message: Message): OpenStep | undefined {
  switch (message.role) {
    case "system":
      return open;
    case "user":
      return undefined;
    case "assistant": {
      const calls = message.parts.filter((part) => part.type === "tool_call");
      if (calls.length === 0) return undefined;
      const pendingCallIds = new Set(calls.map(({ toolCallId }) => toolCallId));
      const injectedCallIds = new Set(calls.filter(isInjected).map(({ toolCallId }) => toolCallId));
      return { id: message.id, pinned: message.pinned, pendingCallIds, injectedCallIds };
    }
    case "tool": {
      if (open === undefined || message.stepId !== open.id) return open;
      const pendingCallIds = new Set(open.pendingCallIds);
      for (const part of message.parts) if (part.type === "tool_result") pendingCallIds.delete(part.toolCallId);
      return pendingCallIds.size === 0 ? undefined : { ...open, pendingCallIds };
    }
  }
}

/** The open step never leaves the window, because it is the newest step. */
function openStepOf(pinned: readonly Message[], window: readonly Message[]): OpenStep | undefined {
  const newest = [...pinned, ...window].sort((left, right) => left.seq - right.seq);
  const start = newest.findLastIndex(({ role }) => role === "assistant" || role === "user");
  let open: OpenStep | undefined;
  for (const message of newest.slice(Math.max(0, start))) open = advanceOpenStep(open, message);
  return open;
}

export function messageCountOf({ pinned, window, graduatedSeq, themes }: SessionState): number {
  let count = pinned.length;
  for (const { theme } of themes.values()) count += theme.messageCount;
  for (const { seq } of window) if (seq >= graduatedSeq) count += 1;
  return count;
}
