import type { OpenCluster } from "../forest/cluster.ts";
import { Decision } from "../forest/decision.ts";
import { Growth } from "../forest/growth.ts";
import { compactFrontier, type Frontier, nextFrontier, type WindowStep } from "../forest/window.ts";
import { LABEL_TEXT_CHARS, labelOf } from "../models/label.ts";
import { Coverage } from "../store/coverage.ts";
import { enteringSteps } from "../store/features.ts";
import type { Repositories } from "../store/repositories.ts";
import type { SessionState } from "../store/session-state.ts";
import type { FrontierMove } from "../store/write.ts";

/** The frontier's move under the window's pressure, after the message just appended; undefined while there is none. */
export function planPressureMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  position: () => number,
): FrontierMove | undefined {
  if (!isUnderPressure(state)) return undefined;
  const next = nextFrontier(windowSteps(state), state, state.settings);
  return next === undefined ? undefined : planMove(repositories, state, similarityMin, next, position());
}

/** The move that a caller asks for; undefined if everything is where it should be and no summary waits. */
export function planCompactMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  position: number,
): FrontierMove | undefined {
  const next = compactFrontier(windowSteps(state), state, state.settings);
  if (next === undefined && repositories.summaries.waiting(state.sessionId).length === 0) return undefined;
  return planMove(repositories, state, similarityMin, next ?? state, position);
}

/** What `nextFrontier` asks first, without grouping the window into steps: most appends stop here. */
function isUnderPressure({ window, graduatedSeq, settings }: SessionState): boolean {
  let waiting = 0;
  let tokens = 0;
  for (const { seq, tokenCount } of window) {
    if (seq >= graduatedSeq) waiting += 1;
    tokens += tokenCount;
  }
  return waiting >= settings.hotSize + settings.evictBatch || tokens > settings.hotTokensMax;
}

function windowSteps(state: SessionState): WindowStep[] {
  const steps = new Map<number, WindowStep>();
  for (const { stepId, seq, tokenCount } of state.window) {
    const step = steps.get(stepId);
    if (step === undefined) {
      const open = state.openStep?.id === stepId;
      steps.set(stepId, { seqFirst: seq, seqLast: seq, messageCount: 1, tokenCount, open });
    } else {
      step.seqLast = seq;
      step.messageCount += 1;
      step.tokenCount += tokenCount;
    }
  }
  const units: WindowStep[] = [];
  for (const step of steps.values()) {
    const unit = units.at(-1);
    if (unit === undefined || (!unit.open && unit.seqLast < step.seqFirst)) {
      units.push(step);
      continue;
    }
    unit.seqLast = Math.max(unit.seqLast, step.seqLast);
    unit.messageCount += step.messageCount;
    unit.tokenCount += step.tokenCount;
    unit.open ||= step.open;
  }
  return units;
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
): FrontierMove {
  const { sessionId, settings } = state;
  const { messages, unions } = repositories;
  const seqBefore = messages.seqBefore(sessionId, state.graduatedSeq);
  const graduating = messages.graduating(sessionId, state.graduatedSeq, next.graduatedSeq - 1);
  const coverage = new Coverage(unions);
  const growth = new Growth(state.dimension, state.openClusters, state.themes.values(), (root) =>
    coverage.themeOf(root),
  );
  const { openClustersMax, maxThemes } = settings;
  const decision = new Decision(growth, position, { similarityMin, openClustersMax, maxThemes });
  // Clusters that a step came into, by root, with the texts of the steps that did.
  const entered = new Map<number, { cluster: OpenCluster; logPosition: number; texts: string[] }>();
  for (const { features, texts } of enteringSteps(graduating, seqBefore)) {
    const { cluster, position: logPosition } = decision.enter(features);
    const earlier = entered.get(cluster.root)?.texts ?? [];
    entered.set(cluster.root, { cluster, logPosition, texts: [...earlier, ...texts] });
  }
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
    shownSummaries: shown,
    hiddenSummaries: hidden,
  };
}

/** Which summaries the context shows from now on: of all that are finished those that no other covers. */
function acceptSummaries(
  { summaries, unions }: Repositories,
  sessionId: string,
): { shown: number[]; hidden: number[] } {
  const shown = summaries.shown(sessionId);
  const waiting = summaries.waiting(sessionId);
  if (waiting.length === 0) return { shown: [], hidden: [] };
  const standing = new Set(new Coverage(unions).maximal([...shown, ...waiting]).map(({ id }) => id));
  return {
    shown: waiting.filter(({ id }) => standing.has(id)).map(({ id }) => id),
    hidden: [...shown, ...waiting].filter(({ id }) => !standing.has(id)).map(({ id }) => id),
  };
}
