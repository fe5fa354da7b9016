import type { Clock } from "../core/clock.ts";
import { VECTOR_PATIENCE_MS } from "../core/limits.ts";
import type { OpenCluster } from "../forest/cluster.ts";
import { GrowingForest } from "../forest/growing-forest.ts";
import { StepPlacer } from "../forest/step-placer.ts";
import {
  compactFrontier,
  type Frontier,
  idleFrontier,
  isHeld,
  NO_WAIT,
  nextFrontier,
  type VectorWait,
  type WindowStep,
  windowSteps,
} from "../forest/window.ts";
import type { Embedder } from "../models/embedder.ts";
import { LABEL_TEXT_CHARS, labelOf } from "../models/label.ts";
import { Coverage } from "../store/coverage.ts";
import { enteringSteps } from "../store/features.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SessionState } from "../store/session-state.ts";
import type { FrontierMove } from "../store/write.ts";

/** What placing needs to know of an embedder. */
export type EmbedderTerms = Pick<Embedder, "id" | "similarityMin">;

/** What a move under pressure depends on beside the session. */
export interface PressureOptions {
  /** That the messages were embedded with. */
  embedder: EmbedderTerms;
  clock: Clock;
}

/** The frontier's move under the window's pressure, after the message just appended; undefined while there is none. */
export function planPressureMove(
  repositories: Repositories,
  state: SessionState,
  { embedder, clock }: PressureOptions,
  position: () => number,
): FrontierMove | undefined {
  if (!isUnderPressure(state)) return undefined;
  const wait = waitOf(repositories, state.sessionId, clock);
  if (isHeld(state.window, state, state.settings, wait)) return undefined;
  const next = nextFrontier(stepsOf(state), state, state.settings, wait);
  return next === undefined ? undefined : planMove(repositories, state, embedder.similarityMin, next, position());
}

/** The move that a caller asks for; undefined if everything is where it should be and no summary waits. */
export function planCompactMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  position: number,
): FrontierMove | undefined {
  const dueFrom = repositories.pendingVectors.firstDue(state.sessionId)?.seq;
  const next = compactFrontier(stepsOf(state), state, state.settings, dueFrom);
  if (next === undefined && repositories.summaries.waiting(state.sessionId).length === 0) return undefined;
  return planMove(repositories, state, similarityMin, next ?? state, position);
}

/**
 * The move of a session that comes to rest; undefined if there is none: nothing may graduate, and no cluster is to settle.
 *
 * @param settles  Whether its open clusters settle, too.
 */
export function planIdleMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  position: number,
  settles: boolean,
): FrontierMove | undefined {
  const next = idleFrontier(stepsOf(state), state);
  if (next === undefined && !(settles && state.openClusters.length > 0)) return undefined;
  return planMove(repositories, state, similarityMin, next ?? state, position, { settleAll: settles });
}

function waitOf({ pendingVectors }: Repositories, sessionId: string, clock: Clock): VectorWait {
  const first = pendingVectors.firstDue(sessionId);
  if (first === undefined) return NO_WAIT;
  const patientSinceMs = clock() - VECTOR_PATIENCE_MS;
  if (first.dueSinceMs > patientSinceMs) return { dueFrom: first.seq, youngFrom: first.seq };
  const youngFrom = pendingVectors.firstDueSince(sessionId, patientSinceMs) ?? Number.POSITIVE_INFINITY;
  return { dueFrom: first.seq, youngFrom };
}

function stepsOf({ window, openStep }: SessionState): WindowStep[] {
  return windowSteps(window, openStep?.id);
}

/** Whether `nextFrontier` may find pressure, without grouping the window into steps: most appends stop here. */
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
 * Decide what a move of the frontier does: where each graduating step goes, which clusters settle, which themes unite,
 * and which summaries the context takes in. `state` becomes what it is once the move is written.
 */
function planMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  next: Frontier,
  position: number,
  { settleAll } = { settleAll: false },
): FrontierMove {
  const { sessionId, settings } = state;
  const { messages, unions } = repositories;
  const seqBefore = messages.seqBefore(sessionId, state.graduatedSeq);
  const graduating = messages.graduating(sessionId, state.graduatedSeq, next.graduatedSeq - 1);
  const coverage = new Coverage(unions);
  const growth = new GrowingForest(state.dimension, state.openClusters, state.themes.values(), (root) =>
    coverage.themeOf(root),
  );
  const { openClustersMax, maxThemes } = settings;
  const decision = new StepPlacer(growth, position, { similarityMin, openClustersMax, maxThemes });
  // Clusters that a step came into, by root, with the texts of the steps that did.
  const entered = new Map<number, { cluster: OpenCluster; logPosition: number; texts: string[] }>();
  for (const { features, texts } of enteringSteps(graduating, seqBefore)) {
    const { cluster, position: logPosition } = decision.enter(features);
    const earlier = entered.get(cluster.root)?.texts ?? [];
    entered.set(cluster.root, { cluster, logPosition, texts: [...earlier, ...texts] });
  }
  if (settleAll) decision.settleAll();
  const clusters = [...entered.values()].map(({ cluster, logPosition, texts }) => ({
    cluster,
    logPosition,
    label: labelOf([...messages.openingsOf(cluster.root, LABEL_TEXT_CHARS), ...texts]),
  }));
  const { shown, hidden } = acceptSummaries(repositories, sessionId);

  state.graduatedSeq = next.graduatedSeq;
  state.evictedSeq = next.evictedSeq;
  state.window = state.window.filter(({ seq }) => seq >= next.evictedSeq);
  state.openClusters = [...growth.open.values()];
  state.themes = growth.themes;
  state.frontierVersion += 1;
  return {
    graduatedSeq: next.graduatedSeq,
    evictedSeq: next.evictedSeq,
    unions: decision.log,
    position: decision.position,
    clusters,
    settled: decision.log.filter(({ kind }) => kind === "settle").map(({ id, root }) => ({ root, position: id })),
    themes: [...growth.themes.values()].filter(({ logPosition }) => logPosition > position),
    absorbedThemes: decision.log.filter(({ kind }) => kind === "unite").map(({ node }) => node),
    vectorless: graduating.filter(({ embedding, text }) => embedding === null && text !== "").map(({ id }) => id),
    shownSummaries: shown,
    hiddenSummaries: hidden,
  };
}

/**
 * Which summaries the context shows from now on: of all that are finished those that no other covers. One that something else
 * only stands in for stays in, behind it: it is what the next one builds on.
 */
function acceptSummaries(
  { summaries, unions }: Repositories,
  sessionId: string,
): { shown: number[]; hidden: number[] } {
  const shown = summaries.shown(sessionId);
  const waiting = summaries.waiting(sessionId);
  if (waiting.length === 0) return { shown: [], hidden: [] };
  const coverage = new Coverage(unions);
  const all = [...shown, ...waiting];
  const made = coverage.maximal(all.filter(({ standsIn }) => !standsIn));
  const standing = new Set([...made, ...coverage.standing(all)].map(({ id }) => id));
  return {
    shown: waiting.filter(({ id }) => standing.has(id)).map(({ id }) => id),
    hidden: all.filter(({ id }) => !standing.has(id)).map(({ id }) => id),
  };
}
