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
import { readingOf } from "./reading.ts";

/** `made`: the summaries of the store's own summarizer. `shown`: all summaries that contexts show, including stand-ins. */
export type Layer = "made" | "shown";

/** A theme whose summary is due. */
export interface DirtyTheme {
  state: GrowingTheme;
  /** Summaries that cover parts of it, oldest sources first. */
  parts: DoneSummary[];
  uncoveredTokens: number;
  /** Why it is not summarized now; undefined if it is. */
  wait: Postponement | undefined;
}

/** The sources of a theme's next summary. */
export interface ThemeReading {
  /** Summaries that it builds on, oldest sources first; empty for a full reading. */
  previous: DoneSummary[];
  /** The messages that `previous` does not cover, in order. */
  sources: Message[];
  readingDepth: number;
  sourceDigest: string;
  /** The generation's count of rewrites, which `forget` increases. */
  rewriteCount: number;
}

/**
 * Returns the dirty themes of a session, those with the most uncovered tokens first. Messages that have graduated only
 * because the session is idle do not count: the window still shows them word for word.
 *
 * @param asker  Names the summarizer whose earlier tries may postpone a theme. Unless given, no theme is postponed.
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
  const idle = idleTokens(repositories, sessionId, settings, [...standing.values()].flat());
  for (const state of themes.ofSession(sessionId)) {
    const { root, tokenCount } = state.theme;
    const parts = standing.get(root) ?? [];
    const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
    const uncoveredTokens = tokenCount - coveredTokens - (idle.get(root) ?? 0);
    // Several small summaries are merged into one to save tokens. Stand-ins are not made for that.
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

/** Returns the sources of a dirty theme. Call it in the transaction that found the theme dirty. */
export function readingOfTheme(repositories: Repositories, { state, parts }: DirtyTheme): ThemeReading {
  const { unions, messages, generations } = repositories;
  const { theme, logPosition } = state;
  const { readInFull, readingDepth } = readingOf(parts, theme.tokenCount);
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

/** Returns, by theme, the tokens of steps that graduated only because the session is idle, and that no summary covers. */
function idleTokens(
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
  // These steps entered the forest last.
  for (const { stepId, clusterRoot, position } of unions.newestEntered(sessionId, tokensOfStep.size)) {
    if (standing.some((summary) => coverage.covers(summary, clusterRoot, position))) continue;
    const root = coverage.themeOf(clusterRoot);
    tokens.set(root, (tokens.get(root) ?? 0) + (tokensOfStep.get(stepId) ?? 0));
  }
  return tokens;
}

/** Returns, by theme, its largest and newest summaries, oldest sources first. Contexts may not show all of them yet. */
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
