import type { Message } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import type { GrowingTheme } from "../forest/growth.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";
import type { DoneSummary } from "../store/summaries.ts";

/** Summaries of its parts that a theme may stand on; with more, one of the whole is made, so that contexts stay short. */
const PARTS_MAX = 3;

/** Versions from the last summary and the new sources, after which the sources are read in full again: summaries of
 *  summaries drift. */
const READING_DEPTH_MAX = 6;

/** Tokens of a theme up to which it is read in full again; past this, a full reading costs more than the drift. */
const FULL_READING_TOKENS_MAX = 48_000;

/** A theme that wants a summary, and what that is to be made from. */
export interface DirtyTheme {
  state: GrowingTheme;
  /** Summaries that already cover parts of it, oldest sources first; empty for a full reading. */
  previous: DoneSummary[];
  /** What they do not cover, in order. */
  sources: Message[];
  readingDepth: number;
}

/** What is to be summarized in a session: roots of dirty themes, those with the most uncovered tokens first. */
export function dirtyRoots(
  repositories: Repositories,
  sessionId: string,
  settings: SessionSettings,
): { dirty: number[]; parked: number } {
  const dirty: { root: number; uncoveredTokens: number }[] = [];
  let parked = 0;
  const standing = standingSummaries(repositories, sessionId);
  for (const { theme, logPosition } of repositories.themes.ofSession(sessionId)) {
    const parts = standing.get(theme.root) ?? [];
    const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
    const uncoveredTokens = theme.tokenCount - coveredTokens;
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
  const depth = parts.length === 0 ? 0 : Math.max(...parts.map(({ readingDepth }) => readingDepth)) + 1;
  const readInFull =
    parts.length === 0 || (depth > READING_DEPTH_MAX && state.theme.tokenCount <= FULL_READING_TOKENS_MAX);
  const previous = readInFull ? [] : parts;
  const covered = new Set(previous.flatMap(({ rootId, logPosition }) => unions.stepsOf("theme", rootId, logPosition)));
  const steps = unions.stepsOf("theme", root, state.logPosition).filter((step) => !covered.has(step));
  return { state, previous, sources: messages.ofSteps(steps), readingDepth: readInFull ? 0 : depth };
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
