import type { Message } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import type { GrowingTheme } from "../forest/growth.ts";
import { hotFrom, windowSteps } from "../forest/window.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";
import type { DoneSummary } from "../store/summaries.ts";
import { readingOf } from "./reading.ts";

/** Summaries of its parts that a theme may stand on; with more, one of the whole is made, so that contexts stay short. */
const PARTS_MAX = 3;

/** A theme that wants a summary, and what that is to be made from. */
export interface DirtyTheme {
  state: GrowingTheme;
  /** Summaries that already cover parts of it, oldest sources first; empty for a full reading. */
  previous: DoneSummary[];
  /** What they do not cover, in order. */
  sources: Message[];
  readingDepth: number;
}

/**
 * What is to be summarized in a session: roots of dirty themes, those with the most uncovered tokens first. Messages that
 * are in the forest only because the session rests wait until it goes on: they would be shown word for word anyway.
 */
export function dirtyRoots(
  repositories: Repositories,
  sessionId: string,
  settings: SessionSettings,
): { dirty: number[]; parked: number } {
  const dirty: { root: number; uncoveredTokens: number }[] = [];
  let parked = 0;
  const standing = standingSummaries(repositories, sessionId);
  const resting = restingTokens(repositories, sessionId, settings, [...standing.values()].flat());
  for (const { theme, logPosition } of repositories.themes.ofSession(sessionId)) {
    const parts = standing.get(theme.root) ?? [];
    const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
    const uncoveredTokens = theme.tokenCount - coveredTokens - (resting.get(theme.root) ?? 0);
    if (uncoveredTokens < settings.resolveTokensMin && parts.length <= PARTS_MAX) continue;
    if ((repositories.summaries.parkedAt(theme.root) ?? -1) >= logPosition) parked += 1;
    else dirty.push({ root: theme.root, uncoveredTokens });
  }
  dirty.sort((left, right) => right.uncoveredTokens - left.uncoveredTokens || left.root - right.root);
  return { dirty: dirty.map(({ root }) => root), parked };
}

/** @returns undefined if the theme has been absorbed, or covered by another process, since it was found dirty. */
export function loadDirtyTheme(repositories: Repositories, sessionId: string, root: number): DirtyTheme | undefined {
  const { themes, unions, messages } = repositories;
  const state = themes.ofSession(sessionId).find(({ theme }) => theme.root === root);
  if (state === undefined) return undefined;
  const parts = standingSummaries(repositories, sessionId).get(root) ?? [];
  if (parts.length === 1 && parts[0]!.rootId === root && parts[0]!.logPosition >= state.logPosition) return undefined;
  const { readInFull, readingDepth } = readingOf(parts, state.theme.tokenCount);
  const previous = readInFull ? [] : parts;
  const covered = new Set(previous.flatMap(({ rootId, logPosition }) => unions.stepsOf("theme", rootId, logPosition)));
  const steps = unions.stepsOf("theme", root, state.logPosition).filter((step) => !covered.has(step));
  return { state, previous, sources: messages.ofSteps(steps), readingDepth };
}

/** By theme, the tokens of its newest steps that only a rest has let in and no summary covers. */
function restingTokens(
  { sessions, messages, unions }: Repositories,
  sessionId: string,
  settings: SessionSettings,
  standing: readonly DoneSummary[],
): Map<number, number> {
  const tokens = new Map<number, number>();
  const session = sessions.byId(sessionId);
  if (session === undefined) return tokens; // forgotten meanwhile
  const window = messages.windowFrom(sessionId, session.evictedSeq);
  const from = hotFrom(windowSteps(window), settings);
  const tokensOfStep = new Map<number, number>();
  for (const { seq, stepId, tokenCount } of window) {
    if (seq < from || seq >= session.graduatedSeq) continue;
    tokensOfStep.set(stepId, (tokensOfStep.get(stepId) ?? 0) + tokenCount);
  }
  const coverage = new Coverage(unions);
  // They entered the forest last.
  for (const { stepId, clusterRoot, position } of unions.newestEntries(sessionId, tokensOfStep.size)) {
    if (standing.some((summary) => coverage.covers(summary, clusterRoot, position))) continue;
    const root = coverage.themeOf(clusterRoot);
    tokens.set(root, (tokens.get(root) ?? 0) + (tokensOfStep.get(stepId) ?? 0));
  }
  return tokens;
}

/** By theme, the newest summaries of its maximal covered parts, whether the context shows them yet or not. */
function standingSummaries({ summaries, unions }: Repositories, sessionId: string): Map<number, DoneSummary[]> {
  const coverage = new Coverage(unions);
  const byTheme = new Map<number, DoneSummary[]>();
  for (const summary of coverage.maximal([...summaries.shown(sessionId), ...summaries.waiting(sessionId)])) {
    const root = coverage.themeOf(summary.rootId);
    const parts = byTheme.get(root);
    if (parts === undefined) byTheme.set(root, [summary]);
    else parts.push(summary);
  }
  for (const parts of byTheme.values()) parts.sort((left, right) => left.seqFirst - right.seqFirst);
  return byTheme;
}
