import type { Strategy } from "../core/options.ts";
import type { Repositories } from "../store/repositories.ts";
import { releaseLeftoverClaims } from "../store/write-summaries.ts";
import { nothingDone, type ResolveResult, ResolveRun, type ResolveRunOptions } from "./resolve-run.ts";
import { resolveSpan } from "./resolve-span.ts";
import { resolveThemes, type ThemeOptions } from "./resolve-themes.ts";
import type { SplitOptions } from "./span.ts";
import { themeSettings } from "./theme-settings.ts";

/** Calls at once unless the caller gives another number. The Gemini client sends as many. */
export const RESOLVE_CONCURRENCY = 8;

export interface ResolveOptions extends ResolveRunOptions, ThemeOptions, SplitOptions {
  /** The strategy whose summaries are made. */
  strategy: Strategy;
}

export interface Resolved {
  result: ResolveResult;
  /** When the first postponed summary may be tried again, in Unix milliseconds; undefined if unknown. */
  nextTryAtMs: number | undefined;
}

/**
 * Makes the summaries that contexts of a strategy show. A `full` context shows none.
 *
 * @throws the signal's reason if it is aborted; summaries recorded by then stay. An error of the summarizer does not reject.
 */
export async function resolveDirty(
  repositories: Repositories,
  sessionId: string,
  options: ResolveOptions,
): Promise<Resolved> {
  options.signal.throwIfAborted();
  const { strategy } = options;
  if (strategy === "full") return { result: nothingDone(), nextTryAtMs: undefined };
  releaseLeftoverClaims(repositories, sessionId, strategy, options.claimant);
  const run = new ResolveRun(repositories, sessionId, options);
  try {
    if (strategy === "union-find") {
      const settings = themeSettings(repositories, sessionId, options);
      await resolveThemes(repositories, sessionId, run, { ...options, settings });
    } else {
      await resolveSpan(repositories, sessionId, run, strategy, options);
    }
    return { result: run.result, nextTryAtMs: run.nextTryAtMs };
  } finally {
    run.end();
  }
}
