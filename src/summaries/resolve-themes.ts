import { formatHandle } from "../core/handle.ts";
import type { SessionSettings } from "../core/options.ts";
import type { Repositories } from "../store/repositories.ts";
import { claimTheme, recordSummary } from "../store/write-summaries.ts";
import { type DirtyTheme, dirtyThemes, type Layer, readingOfTheme, type ThemeReading } from "./dirty.ts";
import { type Asker, attemptsAfter } from "./next-try.ts";
import type { ResolveRun, SummaryTask } from "./resolve-run.ts";
import { standInFor } from "./stand-in.ts";
import type { Reading } from "./summarize.ts";

export interface ThemeOptions {
  settings: SessionSettings;
  /** Calls under way at once. */
  concurrency: number;
}

/**
 * Makes, for every dirty theme of a session, a summary that covers the whole theme. `isDue` says which themes are dirty.
 *
 * No transaction is open while the summarizer works. The summary is stored with the log position of its sources, so it stays
 * true if the theme grows meanwhile. Contexts show it after the next move of the frontier.
 */
export async function resolveThemes(
  repositories: Repositories,
  sessionId: string,
  run: ResolveRun,
  { settings, concurrency }: ThemeOptions,
): Promise<void> {
  const asker = run.asker();
  const dirty = repositories.database.read(() => dirtyThemes(repositories, sessionId, settings, "made", asker));
  const missing = new Set<number>();
  for (const { state, wait } of dirty) {
    if (wait === undefined) continue;
    run.wait(handleOf(state), wait);
    if (!wait.isInflated) missing.add(state.theme.root);
  }
  const queue = dirty.filter(({ wait }) => wait === undefined).values();
  const work = async (): Promise<void> => {
    for (const { state } of queue) {
      const { root } = state.theme;
      const task = themeTask(repositories, sessionId, root, settings, run.asker());
      if (task !== undefined && !(await run.work(task))) missing.add(root);
    }
  };
  // Wait for all workers even if one fails, so that none writes after this returns.
  const workers = await Promise.allSettled(Array.from({ length: concurrency }, work));
  for (const worker of workers) if (worker.status === "rejected") throw worker.reason;
  if (missing.size === 0 || run.options.summarizer.isLocal) return;
  // Most themes have a stand-in already, from an earlier run.
  const lacking = repositories.database.read(() => dirtyThemes(repositories, sessionId, settings, "shown"));
  for (const { state } of lacking) {
    if (missing.has(state.theme.root)) await standInForTheme(repositories, sessionId, state.theme.root, run, settings);
  }
}

/** Returns the task for a theme as it is now; undefined if it was absorbed or summarized since it was found dirty. */
function themeTask(
  repositories: Repositories,
  sessionId: string,
  root: number,
  settings: SessionSettings,
  asker: Asker,
): SummaryTask | undefined {
  const found = loadTheme(repositories, sessionId, root, settings, "made", asker);
  if (found === undefined) return undefined;
  const { dirty, reading } = found;
  const { state } = dirty;
  const row = themeRow(sessionId, dirty, reading);
  const { themes, summaries } = repositories;
  const tried = summaries.newestTry(root, asker.summarizerId, asker.promptVersion);
  return {
    handle: handleOf(state),
    reading: sourcesOf(dirty, reading, settings),
    attempts: attemptsAfter(tried),
    claim: (making, lease) => claimTheme(repositories, { ...row, ...making }, reading.rewriteCount, lease),
    record: (made, claim) => recordSummary(repositories, { ...row, ...made }, claim),
    hasGrown: () => {
      const now = themes.ofSession(sessionId).find(({ theme }) => theme.root === root);
      return now === undefined || now.logPosition > state.logPosition;
    },
  };
}

/** Makes an extractive summary of a theme that has none, if contexts would show too little of it. */
async function standInForTheme(
  repositories: Repositories,
  sessionId: string,
  root: number,
  run: ResolveRun,
  settings: SessionSettings,
): Promise<void> {
  const found = loadTheme(repositories, sessionId, root, settings, "shown");
  if (found === undefined) return;
  const { dirty, reading } = found;
  const row = themeRow(sessionId, dirty, reading);
  await standInFor(run, handleOf(dirty.state), sourcesOf(dirty, reading, settings), (made) =>
    recordSummary(repositories, { ...row, ...made }),
  );
}

function loadTheme(
  repositories: Repositories,
  sessionId: string,
  root: number,
  settings: SessionSettings,
  layer: Layer,
  asker?: Asker,
): { dirty: DirtyTheme; reading: ThemeReading } | undefined {
  return repositories.database.read(() => {
    const dirty = dirtyThemes(repositories, sessionId, settings, layer, asker).find(
      ({ state, wait }) => state.theme.root === root && wait === undefined,
    );
    return dirty && { dirty, reading: readingOfTheme(repositories, dirty) };
  });
}

function handleOf({ theme, logPosition }: DirtyTheme["state"]): string {
  return formatHandle("theme", theme.root, logPosition);
}

function sourcesOf({ state }: DirtyTheme, { previous, sources }: ThemeReading, settings: SessionSettings): Reading {
  return { previous, sources, sourceTokenCount: state.theme.tokenCount, tokensMax: settings.summaryTokensMax };
}

function themeRow(sessionId: string, { state }: DirtyTheme, { readingDepth, sourceDigest }: ThemeReading) {
  const { root: rootId, messageCount, tokenCount: sourceTokenCount, seqFirst, seqLast } = state.theme;
  const { logPosition } = state;
  const level = "theme" as const;
  return {
    sessionId,
    level,
    rootId,
    logPosition,
    sourceDigest,
    messageCount,
    sourceTokenCount,
    seqFirst,
    seqLast,
    readingDepth,
  };
}
