import type { Strategy } from "../core/options.ts";
import { releaseLeftoverClaims } from "../store/index.ts";
import { clusterSummaries } from "./clusters.ts";
import { overviewSummaries } from "./overview.ts";
import {
  type DueCall,
  type DueSummaries,
  nothingDone,
  type ResolveResult,
  ResolveRun,
  type ResolveRunOptions,
  type SummaryContext,
} from "./resolve-run.ts";
import { spanSummaries } from "./span.ts";

/** The number of concurrent calls, unless the caller gives another. The Gemini client sends as many. */
export const RESOLVE_CONCURRENCY = 8;

export interface ResolveOptions extends ResolveRunOptions, SummaryContext {
  strategy: Strategy;
  concurrency: number;
  /** True if an import asks, which gets an overview of work with tools only. */
  isImported: boolean;
}

export interface Resolved {
  result: ResolveResult;
  /** When the first postponed summary may be tried again, in Unix milliseconds; undefined if unknown. */
  nextTryAtMs: number | undefined;
}

/** Makes the summaries that contexts of a strategy show. An error of the summarizer does not reject the promise. */
export async function resolveDirty(options: ResolveOptions): Promise<Resolved> {
  const { repositories, sessionId, strategy, claimant, concurrency, signal } = options;
  signal.throwIfAborted();
  if (strategy === "full") return { result: nothingDone(), nextTryAtMs: undefined };
  releaseLeftoverClaims(repositories, sessionId, claimant);
  const run = new ResolveRun(options);
  try {
    if (strategy === "union-find") {
      const [overviews, ofClusters] = [overviewSummaries(options), clusterSummaries(options)];
      // In work with tools, an overview is worth more than all else that the calls of a day may make, and needs none of it.
      const isWork = options.summarizer.citesSources === true && options.past().isWork();
      const kinds = !isWork ? [ofClusters, overviews] : options.isImported ? [overviews] : [overviews, ofClusters];
      for (const due of kinds) await makeDue(due, run, concurrency);
    } else await makeDue(spanSummaries({ ...options, strategy }), run, concurrency);
    return { result: run.result, nextTryAtMs: run.nextTryAtMs };
  } finally {
    run.end();
  }
}

/** @returns false if stand-ins are needed. */
async function makeAll(
  due: readonly DueCall[],
  summaries: DueSummaries,
  run: ResolveRun,
  concurrency: number,
): Promise<boolean> {
  let isMade = true;
  const queue = due.values();
  const work = async (): Promise<void> => {
    for (const { keys } of queue) {
      const task = summaries.task(keys, run.asker());
      if (task !== undefined && !(await run.work(task))) isMade = false;
    }
  };
  // If one worker fails, wait for the others, because none may write after this returns.
  const workers = await Promise.allSettled(Array.from({ length: concurrency }, work));
  for (const worker of workers) if (worker.status === "rejected") throw worker.reason;
  return isMade;
}

async function makeDue(summaries: DueSummaries, run: ResolveRun, concurrency: number): Promise<void> {
  let listed = summaries.list(run.asker());
  const waiting = listed.filter(({ wait }) => wait !== undefined);
  for (const call of waiting) run.wait(call);
  let isMissing = waiting.some(({ wait }) => !wait!.isInflated);
  for (let hasMore = true; hasMore; ) {
    const due = listed.filter(({ wait }) => wait === undefined);
    const isMade = await makeAll(due, summaries, run, concurrency);
    isMissing ||= !isMade;
    hasMore = isMade && due.some((call) => call.hasMore);
    if (hasMore) listed = summaries.list(run.asker());
  }
  // A local summarizer needs no stand-in.
  if (!isMissing || run.options.summarizer.isLocal) return;
  // A summary that has a stand-in from an earlier run is not in this list.
  for (const { keys } of summaries.list(undefined)) {
    const task = summaries.task(keys, undefined);
    if (task !== undefined) await run.standIn(task);
  }
}
