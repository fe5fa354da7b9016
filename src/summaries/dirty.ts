import type { Message } from "../core/message.ts";
import type { SessionSettings } from "../core/options.ts";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import { hotFrom, windowSteps } from "../forest/window.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";
import type { DoneSummary } from "../store/summaries.ts";
import { sourceDigestOf } from "../store/write-summaries.ts";
import { isDue } from "./due.ts";
import { type Asker, type Postponement, postponementOf } from "./next-try.ts";
import { FULL_READING_TOKENS_MAX, readingOf } from "./reading.ts";

/**
 * Which summaries count: those that the store's own summarizer has `made`, or all that a context shows, be it only that they
 * stand in for one (`shown`).
 */
export type Layer = "made" | "shown";

/** A theme that wants a summary. */
export interface DirtyTheme {
  state: GrowingTheme;
  /** Summaries that already cover parts of it, oldest sources first. */
  parts: DoneSummary[];
  uncoveredTokens: number;
  /** Why it is not to be tried now. */
  wait: Postponement | undefined;
}

/** What a summary of a theme is to be made from. */
export interface ThemeReading {
  /** Oldest sources first; empty for a full reading. */
  previous: DoneSummary[];
  /** What they do not cover, in order. */
  sources: Message[];
  readingDepth: number;
  sourceDigest: string;
  /** Of the generation: whatever is forgotten from here on changes it. */
  rewriteCount: number;
}

/**
 * What is to be summarized in a session: dirty themes, those with the most uncovered tokens first. Messages that are in the
 * forest only because the session rests wait until it goes on: they would be shown word for word anyway.
 *
 * @param asker  Whose earlier tries count; unless given, all are to be tried.
 */
export function dirtyThemes(
  repositories: Repositories,
  sessionId: string,
  settings: SessionSettings,
  layer: Layer,
  asker?: Asker,
): DirtyTheme[] {
  const { summaries, themes } = repositories;
  const dirty: DirtyTheme[] = [];
  const standing = standingSummaries(repositories, sessionId, layer);
  const resting = restingTokens(repositories, sessionId, settings, [...standing.values()].flat());
  for (const state of themes.ofSession(sessionId)) {
    const { root, tokenCount } = state.theme;
    const parts = standing.get(root) ?? [];
    const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
    const uncoveredTokens = tokenCount - coveredTokens - (resting.get(root) ?? 0);
    // Many small summaries are put into one to save tokens: what stands in for a summary is not asked for that.
    if (layer === "shown" && uncoveredTokens < settings.resolveTokensMin) continue;
    const summaryTokens = parts.map((part) => part.tokenCount);
    if (!isDue({ uncoveredTokens, summaryTokens }, settings.resolveTokensMin)) continue;
    const tried = asker && summaries.newestTry(root, asker.summarizerId, asker.promptVersion);
    dirty.push({ state, parts, uncoveredTokens, wait: asker && postponementOf(tried, state.logPosition, asker) });
  }
  return dirty.sort(
    (left, right) => right.uncoveredTokens - left.uncoveredTokens || left.state.theme.root - right.state.theme.root,
  );
}

/** Call it in the transaction in which the theme was found dirty. */
export function readingOfTheme(repositories: Repositories, { state, parts }: DirtyTheme): ThemeReading {
  const { unions, messages, generations } = repositories;
  const { theme, logPosition } = state;
  const { readInFull, readingDepth } = readingOf(parts, theme.tokenCount, FULL_READING_TOKENS_MAX);
  const previous = readInFull ? [] : parts;
  const covered = new Set(previous.flatMap((part) => unions.stepsOf("theme", part.rootId, part.logPosition)));
  const steps = unions.stepsOf("theme", theme.root, logPosition).filter((step) => !covered.has(step));
  return {
    previous,
    sources: messages.ofSteps(steps),
    readingDepth,
    sourceDigest: sourceDigestOf(repositories, theme.root, logPosition),
    rewriteCount: generations.newest()!.rewriteCount,
  };
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
  for (const { stepId, clusterRoot, position } of unions.newestEntered(sessionId, tokensOfStep.size)) {
    if (standing.some((summary) => coverage.covers(summary, clusterRoot, position))) continue;
    const root = coverage.themeOf(clusterRoot);
    tokens.set(root, (tokens.get(root) ?? 0) + (tokensOfStep.get(stepId) ?? 0));
  }
  return tokens;
}

/** By theme, the newest summaries of its maximal covered parts, whether the context shows them yet or not. */
function standingSummaries(
  { summaries, unions }: Repositories,
  sessionId: string,
  layer: Layer,
): Map<number, DoneSummary[]> {
  const coverage = new Coverage(unions);
  const all = [...summaries.shown(sessionId), ...summaries.waiting(sessionId)];
  const standing =
    layer === "shown" ? coverage.standing(all) : coverage.maximal(all.filter(({ standsIn }) => !standsIn));
  const byTheme = new Map<number, DoneSummary[]>();
  for (const summary of standing) {
    const root = coverage.themeOf(summary.rootId);
    const parts = byTheme.get(root);
    if (parts === undefined) byTheme.set(root, [summary]);
    else parts.push(summary);
  }
  for (const parts of byTheme.values()) parts.sort((left, right) => left.seqFirst - right.seqFirst);
  return byTheme;
}
