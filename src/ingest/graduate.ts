import type { Clock } from "../core/clock.ts";
import { TITLED_ENDS, titledEnds } from "../core/ends.ts";
import { VECTOR_WAIT_MESSAGES_MAX, VECTOR_WAIT_MS_MAX } from "../core/limits.ts";
import { once } from "../core/once.ts";
import type { OpenCluster } from "../forest/cluster.ts";
import { GrowingForest } from "../forest/growing-forest.ts";
import { StepPlacer } from "../forest/step-placer.ts";
import {
  compactFrontier,
  type Frontier,
  hotFrom,
  idleFrontier,
  isHeld,
  NOTHING_DUE,
  nextFrontier,
  type WindowStep,
  windowSteps,
} from "../forest/window.ts";
import type { Embedder } from "../models/embedder.ts";
import { TITLE_TEXT_CHARS, titleOf } from "../models/title.ts";
import {
  enteringSteps,
  type FrontierMove,
  type GraduatingMessage,
  type NextMove,
  type Repositories,
  type SessionState,
  ThemeRoots,
} from "../store/index.ts";

export type EmbedderTerms = Pick<Embedder, "id" | "similarityMin">;

export interface Changed<T> {
  state: SessionState;
  result: T;
}

/** Returns the move that relieves the window; undefined without pressure, or if the window waits for a vector. */
export function planPressureMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  clock: Clock,
): Changed<FrontierMove> | undefined {
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
): Changed<FrontierMove> | undefined {
  const dueFrom = repositories.pendingVectors.firstDue(state.sessionId, 0);
  const next = compactFrontier(stepsOf(state), state, state.settings, dueFrom);
  if (next === undefined && !repositories.summaries.hasWaiting(state.sessionId)) return undefined;
  return planMove(repositories, state, similarityMin, next ?? state);
}

/** Returns the move of an idle session; undefined if nothing would change. If `isOver`, all open clusters settle. */
export function planIdleMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  isOver: boolean,
): Changed<FrontierMove> | undefined {
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

/** The clusters whose messages are kept for their next title. Most steps join one of them. */
const TITLE_SOURCES_MAX = 16;

/** The messages between two `prepareMove`s that do anything. */
const PREPARE_MESSAGES = 6;
/** The steps that one `prepareMove` places. More may wait behind a long message, or for their vectors. */
const PREPARE_STEPS_MAX = 8;

/**
 * Places steps that the next move of the frontier will certainly contain, so that the move has less to do. A step with a message
 * that may still get a vector waits for the move, and so do all later steps.
 */
export function prepareMove(repositories: Repositories, state: SessionState, similarityMin: number): SessionState {
  // Who appends less than that and goes back, or ends, would prepare in vain.
  const isDue = state.nextSeq % PREPARE_MESSAGES === 0 && state.nextSeq >= state.loadedSeq + PREPARE_MESSAGES;
  if (!isDue) return state;
  const steps = stepsOf(state);
  const hotSeq = hotFrom(steps, state.settings);
  const next = nextMoveOf(repositories, state, similarityMin, hotSeq);
  const ahead = steps.filter(({ seqFirst }) => seqFirst >= next.seqEnd && seqFirst < hotSeq);
  if (ahead.length === 0) return { ...state, nextMove: next };
  const seqEndMax = ahead[PREPARE_STEPS_MAX]?.seqFirst ?? hotSeq;
  const graduating = repositories.messages.graduating(state.sessionId, next.seqEnd, seqEndMax - 1);
  const waitsFor = graduating.find(isVectorless);
  const seqEnd = waitsFor === undefined ? seqEndMax : steps.find(({ seqLast }) => seqLast >= waitsFor.seq)!.seqFirst;
  const certain = graduating.filter(({ seq }) => seq < seqEnd);
  placeSteps(repositories, state.sessionId, next, certain, seqEnd);
  for (const { label } of next.entered.values()) label();
  return { ...state, nextMove: next };
}

function isVectorless({ embedding, text }: GraduatingMessage): boolean {
  return embedding === null && text !== "";
}

/** Returns the prepared part of the next move, or starts anew if nothing of it can be used for a move to `seqEnd`. */
function nextMoveOf(
  { messages, unions }: Repositories,
  state: SessionState,
  similarityMin: number,
  seqEnd: number,
): NextMove {
  const { sessionId, graduatedSeq, dimension, settings, nextMove } = state;
  const { openClustersMax, maxThemes } = settings;
  const decided = nextMove?.placer.options;
  const isUsable =
    decided?.similarityMin === similarityMin &&
    decided.openClustersMax === openClustersMax &&
    decided.maxThemes === maxThemes &&
    nextMove!.seqEnd <= Math.max(seqEnd, graduatedSeq);
  if (isUsable) return nextMove!;
  const roots = new ThemeRoots(unions, sessionId);
  const themeOf = (root: number) => roots.themeOf(root);
  const forest = new GrowingForest(dimension, state.openClusters, state.themes.values(), themeOf);
  const placer = new StepPlacer(forest, unions.newestPosition(), { similarityMin, openClustersMax, maxThemes });
  return emptyMove(placer, graduatedSeq, messages.seqBefore(sessionId, graduatedSeq));
}

function emptyMove(
  placer: StepPlacer,
  seqEnd: number,
  seqLast: number,
  titles: NextMove["titles"] = new Map(),
): NextMove {
  return { placer, seqEnd, seqLast, entered: new Map(), vectorless: [], titles };
}

/** Decides which cluster each step enters, which clusters settle, and which themes unite. */
function placeSteps(
  { messages, unions }: Repositories,
  sessionId: string,
  next: NextMove,
  graduating: readonly GraduatingMessage[],
  seqEnd: number,
): void {
  const entered = new Set<OpenCluster>();
  const stepsOfCluster = (root: number): number[] => {
    const range = { sessionId, root, from: 0, position: unions.newestPosition() };
    const first = unions.entriesOf(range, TITLED_ENDS);
    const from = first.at(-1)?.position ?? 0;
    const held = [...first, ...unions.lastEntriesOf({ ...range, from }, TITLED_ENDS)];
    // The last row lets in the step that is being placed.
    const ahead = next.placer.log.filter((row) => row.root === root && (row.kind === "start" || row.kind === "join"));
    return [...held.map(({ stepId }) => stepId), ...ahead.slice(0, -1).map(({ node }) => node)];
  };
  for (const { features, messages: fresh } of enteringSteps(graduating, next.seqLast)) {
    const { cluster } = next.placer.enter(features);
    const { root } = cluster;
    const title = next.titles.get(root) ?? {
      messages: cluster.stepCount === 1 ? [] : messages.openingsOf(TITLE_TEXT_CHARS, titledEnds(stepsOfCluster(root))),
      asked: messages.askedBefore(TITLE_TEXT_CHARS, root),
    };
    title.messages = [...titledEnds(title.messages), ...fresh.map(({ role, text }) => ({ role, text }))];
    next.titles.delete(root);
    next.titles.set(root, title);
    entered.add(cluster);
    next.seqLast = features.seqLast;
  }
  next.seqEnd = Math.max(next.seqEnd, seqEnd);
  for (const cluster of entered) {
    const { messages: openings, asked } = next.titles.get(cluster.root)!;
    next.entered.set(cluster.root, { cluster, label: once(() => titleOf(openings, asked)) });
  }
  for (const root of next.titles.keys()) {
    if (next.titles.size <= TITLE_SOURCES_MAX) break;
    next.titles.delete(root);
  }
  next.vectorless.push(...graduating.filter(isVectorless).map(({ id }) => id));
}

/** Decides what the frontier's move to `next` does. If `settlesAll`, all clusters settle at the end. */
function planMove(
  repositories: Repositories,
  state: SessionState,
  similarityMin: number,
  { graduatedSeq, evictedSeq }: Frontier,
  settlesAll = false,
): Changed<FrontierMove> {
  const { sessionId } = state;
  const { messages, unions } = repositories;
  const next = nextMoveOf(repositories, state, similarityMin, graduatedSeq);
  const { placer, entered, vectorless } = next;
  const position = unions.newestPosition();
  placer.renumber(position);
  placeSteps(
    repositories,
    sessionId,
    next,
    messages.graduating(sessionId, next.seqEnd, graduatedSeq - 1),
    graduatedSeq,
  );
  if (settlesAll) placer.settleAll();
  const forest = placer.growth;
  const enteredAt = new Map<number, number>();
  for (const { kind, root, id } of placer.log) {
    if (kind === "start" || kind === "join") enteredAt.set(root, id);
    else if (kind === "settle") next.titles.delete(root);
  }

  const later = new StepPlacer(forest.continued(), placer.position, placer.options);
  const after = {
    ...state,
    graduatedSeq,
    evictedSeq,
    window: state.window.filter(({ seq }) => seq >= evictedSeq),
    openClusters: [...forest.open.values()],
    themes: forest.themes,
    frontierVersion: state.frontierVersion + 1,
    nextMove: emptyMove(later, graduatedSeq, next.seqLast, next.titles),
  };
  const result = {
    sessionId,
    seqEnd: state.nextSeq,
    graduatedBefore: state.graduatedSeq,
    graduatedSeq,
    evictedSeq,
    unions: placer.log,
    positionBefore: position,
    position: placer.position,
    clusters: [...entered.values()].map(({ cluster, label }) => ({
      cluster,
      label,
      logPosition: enteredAt.get(cluster.root)!,
    })),
    themes: [...forest.themes.values()].sort((left, right) => left.theme.root - right.theme.root),
    vectorless,
  };
  return { state: after, result };
}
