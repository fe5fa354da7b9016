import type { Clock } from "../core/clock.ts";
import { VECTOR_WAIT_MESSAGES_MAX, VECTOR_WAIT_MS_MAX } from "../core/limits.ts";
import type { OpenCluster } from "../forest/cluster.ts";
import { GrowingForest } from "../forest/growing-forest.ts";
import { StepPlacer } from "../forest/step-placer.ts";
import {
  compactFrontier,
  type Frontier,
  idleFrontier,
  isHeld,
  NOTHING_DUE,
  nextFrontier,
  type WindowStep,
  windowSteps,
} from "../forest/window.ts";
import type { Embedder } from "../models/embedder.ts";
import { TITLE_TEXT_CHARS, titleOf } from "../models/title.ts";
import { Coverage } from "../store/coverage.ts";
import { enteringSteps } from "../store/features.ts";
import type { TitledMessage } from "../store/messages.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SessionState } from "../store/session-state.ts";
import type { FrontierMove } from "../store/write.ts";

export type EmbedderTerms = Pick<Embedder, "id" | "similarityMin">;

/** Returns the move that relieves the window; undefined without pressure, or if the window waits for a vector. */
export function planPressureMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  clock: Clock,
): FrontierMove | undefined {
  if (!isUnderPressure(state)) return undefined;
  const dueFrom = awaitedFrom(repositories, state, clock);
  if (isHeld(state.window, state, state.settings, dueFrom)) return undefined;
  const next = nextFrontier(stepsOf(state), state, state.settings, dueFrom);
  return next && planMove(repositories, state, similarityMin, next);
}

/** Returns the farthest move that the window allows; undefined if nothing would change. */
export function planCompactMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
): FrontierMove | undefined {
  const dueFrom = repositories.pendingVectors.firstDue(state.sessionId, 0);
  const next = compactFrontier(stepsOf(state), state, state.settings, dueFrom);
  if (
    next === undefined &&
    repositories.summaries.covering(state.sessionId).every(({ shownFrom }) => shownFrom !== null)
  )
    return undefined;
  return planMove(repositories, state, similarityMin, next ?? state);
}

/** Returns the move of an idle session; undefined if nothing would change. If `isOver`, all open clusters settle. */
export function planIdleMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  isOver: boolean,
): FrontierMove | undefined {
  const next = idleFrontier(stepsOf(state), state);
  if (next === undefined && !(isOver && state.openClusters.length > 0)) return undefined;
  return planMove(repositories, state, similarityMin, next ?? state, isOver);
}

/**
 * Returns the seq of the first message whose vector the window waits for. The wait ends after four hours, or when 5,000
 * newer messages have been appended.
 */
function awaitedFrom({ pendingVectors }: Repositories, { sessionId, window }: SessionState, clock: Clock): number {
  const dueFrom = pendingVectors.firstDue(sessionId, clock() - VECTOR_WAIT_MS_MAX) ?? NOTHING_DUE;
  return Math.max(dueFrom, window.at(-VECTOR_WAIT_MESSAGES_MAX)?.seq ?? 0);
}

function stepsOf({ window, openStep }: SessionState): WindowStep[] {
  return windowSteps(window, openStep?.id);
}

/** A cheap check, which suffices for most appends. Returns false only if `nextFrontier` would not move. */
function isUnderPressure({ window, graduatedSeq, settings }: SessionState): boolean {
  const { hotSize, evictBatch, hotTokensMax } = settings;
  if (window.length >= hotSize + 2 * evictBatch) return true;
  let waiting = 0;
  let tokens = 0;
  for (const { seq, tokenCount } of window) {
    if (seq >= graduatedSeq) waiting += 1;
    tokens += tokenCount;
  }
  return waiting >= hotSize + evictBatch || tokens > hotTokensMax;
}

/**
 * Decides which cluster each graduating step enters, which clusters settle, and which themes unite. Changes `state` as if the
 * move were already written. If `settlesAll`, all clusters settle at the end.
 */
function planMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  next: Frontier,
  settlesAll = false,
): FrontierMove {
  const { sessionId, settings } = state;
  const { messages, unions } = repositories;
  const position = unions.newestPosition();
  const seqBefore = messages.seqBefore(sessionId, state.graduatedSeq);
  const graduating = messages.graduating(sessionId, state.graduatedSeq, next.graduatedSeq - 1);
  const coverage = new Coverage(unions);
  const forest = new GrowingForest(state.dimension, state.openClusters, state.themes.values(), (root) =>
    coverage.themeOf(root),
  );
  const { openClustersMax, maxThemes } = settings;
  const placer = new StepPlacer(forest, position, { similarityMin, openClustersMax, maxThemes });
  /** Keyed by root: the clusters that steps entered, with the messages of those steps. */
  const entered = new Map<number, { cluster: OpenCluster; logPosition: number; fresh: TitledMessage[] }>();
  for (const { features, messages: fresh } of enteringSteps(graduating, seqBefore)) {
    const { cluster, position: logPosition } = placer.enter(features);
    const earlier = entered.get(cluster.root)?.fresh ?? [];
    entered.set(cluster.root, { cluster, logPosition, fresh: [...earlier, ...fresh] });
  }
  if (settlesAll) placer.settleAll();
  const clusters = [...entered.values()].map(({ cluster, logPosition, fresh }) => ({
    cluster,
    logPosition,
    label: titleOf(
      [...messages.openingsOf(TITLE_TEXT_CHARS, cluster.root), ...fresh],
      messages.askedBefore(TITLE_TEXT_CHARS, cluster.root),
    ),
  }));

  state.graduatedSeq = next.graduatedSeq;
  state.evictedSeq = next.evictedSeq;
  state.window = state.window.filter(({ seq }) => seq >= next.evictedSeq);
  state.openClusters = [...forest.open.values()];
  state.themes = forest.themes;
  state.frontierVersion += 1;
  return {
    sessionId,
    graduatedSeq: next.graduatedSeq,
    evictedSeq: next.evictedSeq,
    unions: placer.log,
    position: placer.position,
    clusters,
    themes: [...forest.themes.values()].filter(({ logPosition }) => logPosition > position),
    vectorless: graduating.filter(({ embedding, text }) => embedding === null && text !== "").map(({ id }) => id),
  };
}
