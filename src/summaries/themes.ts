import { formatHandle } from "../core/handle.ts";
import { SESSION_OPTIONS, type SessionSettings } from "../core/options.ts";
import type { GrowingTheme } from "../forest/growing-forest.ts";
import { hotFrom, windowSteps } from "../forest/window.ts";
import { Coverage } from "../store/coverage.ts";
import type { Repositories } from "../store/repositories.ts";
import type { DoneSummary } from "../store/summaries.ts";
import { claimTheme, recordSummary, sourceDigestOf } from "../store/write-summaries.ts";
import { isDue, readingOf } from "./due.ts";
import { type Asker, attemptsAfter, type Postponement, postponementOf } from "./next-try.ts";
import type { DueSummaries, SummaryContext } from "./resolve-run.ts";

/** The share of the tokens left by pinned messages that all theme summaries together may take. */
const THEMES_SHARE = 0.3;

/** A local summarizer costs nothing. With one, `resolveTokensMin` is multiplied by this, so that summaries are due earlier. */
const LOCAL_SHARE = 1 / 3;

interface DirtyTheme extends GrowingTheme {
  /** Summaries that cover parts of the theme, in the order of their messages. */
  parts: DoneSummary[];
  uncoveredTokens: number;
  attempts: number;
  /** Why the theme is not summarized now; undefined if it is. */
  wait: Postponement | undefined;
}

/** The summaries of a session's dirty themes. Each covers a theme at a log position, so it stays true if the theme grows. */
export function themeSummaries(context: SummaryContext): DueSummaries {
  const { repositories, sessionId } = context;
  const { database, unions, messages, generations, themes } = repositories;
  const settings = themeSettings(context);
  return {
    list: (asker) =>
      database
        .read(() => dirtyThemes(repositories, sessionId, settings, asker))
        .map(({ theme, logPosition, wait }) => ({ id: theme.root, handle: handleOf({ theme, logPosition }), wait })),
    task: (root, asker) =>
      database.read(() => {
        const dirty = dirtyThemes(repositories, sessionId, settings, asker).find(({ theme }) => theme.root === root);
        if (dirty === undefined || dirty.wait !== undefined) return undefined;
        const { theme, logPosition, parts, attempts } = dirty;
        const { messageCount, tokenCount: sourceTokenCount, seqFirst, seqLast } = theme;
        const { readInFull, readingDepth } = readingOf(parts, sourceTokenCount);
        const previous = readInFull ? [] : parts;
        const covered = new Set(previous.flatMap((part) => unions.stepsOf("theme", part.rootId, part.logPosition)));
        const steps = unions.stepsOf("theme", root, logPosition).filter((step) => !covered.has(step));
        const { rewriteCount } = generations.newest()!;
        const row = {
          ...{ sessionId, level: "theme" as const, rootId: root, logPosition, readingDepth },
          ...{ messageCount, sourceTokenCount, seqFirst, seqLast },
          sourceDigest: sourceDigestOf(repositories, root, logPosition),
        };
        return {
          handle: handleOf(dirty),
          reading: {
            previous,
            sources: messages.ofSteps(steps),
            sourceTokenCount,
            tokensMax: settings.summaryTokensMax,
          },
          attempts,
          claim: (making, lease) => claimTheme(repositories, { ...row, ...making }, rewriteCount, lease),
          record: (made, claim) => recordSummary(repositories, { ...row, ...made }, claim),
          hasGrown: () => {
            const now = themes.ofSession(sessionId).find(({ theme }) => theme.root === root);
            return now === undefined || now.logPosition > logPosition;
          },
        };
      }),
  };
}

/** Lowers `summaryTokensMax` so that `maxThemes` summaries fit a context. Lowers `resolveTokensMin` for a local summarizer. */
export function themeSettings({
  repositories,
  sessionId,
  settings,
  tokensMax,
  summarizer,
}: Omit<SummaryContext, "openStepId">): SessionSettings {
  const { maxThemes, resolveTokensMin } = settings;
  const free = tokensMax - repositories.messages.pinnedTokensOf(sessionId);
  const room = Math.max(SESSION_OPTIONS.summaryTokensMax.min, Math.floor((THEMES_SHARE * free) / maxThemes));
  return {
    ...settings,
    summaryTokensMax: Math.min(settings.summaryTokensMax, room),
    resolveTokensMin: summarizer.isLocal ? Math.ceil(LOCAL_SHARE * resolveTokensMin) : resolveTokensMin,
  };
}

function handleOf({ theme, logPosition }: GrowingTheme): string {
  return formatHandle("theme", theme.root, logPosition);
}

/**
 * Returns the dirty themes of a session, those with the most uncovered tokens first. Messages that graduated only because the
 * session is idle do not count, because the window still shows them word for word.
 *
 * @param asker  The summarizer, whose earlier tries may postpone a theme. Undefined to list the themes that need a
 *   stand-in: a summary by the extractive summarizer, until the store's own has made one.
 */
export function dirtyThemes(
  repositories: Repositories,
  sessionId: string,
  settings: SessionSettings,
  asker: Asker | undefined,
): DirtyTheme[] {
  const { summaries, themes } = repositories;
  const dirty: DirtyTheme[] = [];
  const standing = standingSummaries(repositories, sessionId, asker !== undefined);
  const idle = idleTokens(repositories, sessionId, settings, [...standing.values()].flat());
  for (const { theme, logPosition } of themes.ofSession(sessionId)) {
    const { root, tokenCount } = theme;
    const parts = standing.get(root) ?? [];
    const coveredTokens = parts.reduce((sum, { sourceTokenCount }) => sum + sourceTokenCount, 0);
    const uncoveredTokens = tokenCount - coveredTokens - (idle.get(root) ?? 0);
    // Several small summaries are merged into one only to save tokens. A stand-in saves too few.
    if (asker === undefined && uncoveredTokens < settings.resolveTokensMin) continue;
    const summaryTokens = parts.map((part) => part.tokenCount);
    if (!isDue(uncoveredTokens, summaryTokens, settings.resolveTokensMin)) continue;
    const tried = asker && summaries.newestTry(root, asker.summarizerId, asker.promptVersion);
    const wait = asker && postponementOf(tried, logPosition, asker);
    dirty.push({ theme, logPosition, parts, uncoveredTokens, attempts: attemptsAfter(tried), wait });
  }
  return dirty.sort(
    (left, right) => right.uncoveredTokens - left.uncoveredTokens || left.theme.root - right.theme.root,
  );
}

/** Returns, by theme, the uncovered tokens of steps that graduated only because the session is idle. */
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

/** Returns, for each theme, those of its summaries that no other summary covers, in the order of their messages. */
function standingSummaries(
  { summaries, unions }: Repositories,
  sessionId: string,
  withoutStandIns: boolean,
): Map<number, DoneSummary[]> {
  const coverage = new Coverage(unions);
  const all = [...summaries.shown(sessionId), ...summaries.waiting(sessionId)];
  const standing = withoutStandIns ? coverage.maximal(all.filter(({ standsIn }) => !standsIn)) : coverage.standing(all);
  standing.sort((left, right) => left.seqFirst - right.seqFirst);
  const byTheme = new Map<number, DoneSummary[]>();
  for (const summary of standing) {
    const root = coverage.themeOf(summary.rootId);
    byTheme.set(root, [...(byTheme.get(root) ?? []), summary]);
  }
  return byTheme;
}
