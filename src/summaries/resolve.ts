import { createHash } from "node:crypto";
import { StoreError } from "../core/errors.ts";
import type { Strategy } from "../core/options.ts";
import type { Repositories } from "../store/repositories.ts";
import { recordSummary } from "../store/write.ts";
import { dirtyRoots, loadDirtyTheme } from "./dirty.ts";
import { resolveSpan, type SpanOptions } from "./resolve-span.ts";
import { summarize } from "./summarize.ts";

/** Calls under way at once, unless the caller says otherwise. */
export const RESOLVE_CONCURRENCY = 4;

export interface ResolveOptions extends SpanOptions {
  /** Whose summaries to make. */
  strategy: Strategy;
  concurrency: number;
}

/** How many themes went which way; of `flat` and `sandwich`, whose summary is one, that one. */
export interface ResolveResult {
  /** Have a new summary. */
  resolved: number;
  /** The summarizer failed or answered what cannot be used; tried again next time. */
  failed: number;
  /** Of `resolved`: grew while they were being summarized, so they are dirty again. Also a stretch of which messages were
   *  forgotten meanwhile; its summary is not kept. */
  stale: number;
  /** Cannot be made shorter than they are; left alone until they grow. */
  parked: number;
}

/**
 * Make the summaries that contexts of a strategy want. A context that shows everything wants none.
 *
 * @throws the signal's reason if it is aborted; summaries recorded by then stay. A failing summarizer never rejects.
 */
export async function resolveDirty(
  repositories: Repositories,
  sessionId: string,
  options: ResolveOptions,
): Promise<ResolveResult> {
  options.signal.throwIfAborted();
  const { strategy } = options;
  if (strategy === "union-find") return resolveThemes(repositories, sessionId, options);
  const result: ResolveResult = { resolved: 0, failed: 0, stale: 0, parked: 0 };
  const outcome = strategy === "full" ? undefined : await resolveSpan(repositories, sessionId, strategy, options);
  if (outcome !== undefined) result[outcome] += 1;
  return result;
}

/**
 * Give every dirty theme of a session a summary that covers all of it.
 *
 * A theme is dirty while at least `resolveTokensMin` tokens of it stand in no summary, or while it stands on more than a
 * few summaries of its parts. No transaction is open while the summarizer works; what it read is named by a log
 * position, so whatever happens meanwhile, the result is true of that position and is kept. The context shows it from the
 * next move of the frontier on.
 */
async function resolveThemes(
  repositories: Repositories,
  sessionId: string,
  options: ResolveOptions,
): Promise<ResolveResult> {
  const { dirty, parked } = repositories.database.read(() => dirtyRoots(repositories, sessionId, options.settings));
  const result: ResolveResult = { resolved: 0, failed: 0, stale: 0, parked };
  const queue = dirty.values();
  const work = async (): Promise<void> => {
    for (const root of queue) await resolveTheme(repositories, sessionId, root, options, result);
  };
  // Settled, not raced: when one is aborted the others stop by themselves, and none writes after this returns.
  const workers = await Promise.allSettled(Array.from({ length: options.concurrency }, work));
  for (const worker of workers) if (worker.status === "rejected") throw worker.reason;
  return result;
}

async function resolveTheme(
  repositories: Repositories,
  sessionId: string,
  root: number,
  options: ResolveOptions,
  result: ResolveResult,
): Promise<void> {
  options.signal.throwIfAborted();
  const { database, themes, summaries, unions, messages } = repositories;
  const theme = database.read(() => loadDirtyTheme(repositories, sessionId, root));
  if (theme === undefined) return;

  const { state, previous, sources } = theme;
  const reading = {
    previous,
    sources,
    sourceTokenCount: state.theme.tokenCount,
    tokensMax: options.settings.summaryTokensMax,
  };
  const outcome = await summarize(reading, options);
  options.signal.throwIfAborted();
  const digest = createHash("sha256");
  for (const part of messages.digestsOfSteps(unions.stepsOf("theme", root, state.logPosition))) digest.update(part);
  recordSummary(repositories, {
    sessionId,
    level: "theme",
    rootId: root,
    logPosition: state.logPosition,
    sourceDigest: digest.digest("hex"),
    messageCount: state.theme.messageCount,
    sourceTokenCount: state.theme.tokenCount,
    seqFirst: state.theme.seqFirst,
    seqLast: state.theme.seqLast,
    readingDepth: theme.readingDepth,
    summarizerId: options.summarizer.id,
    promptVersion: options.summarizer.promptVersion,
    attempts: summaries.failedAttempts(root) + 1,
    createdAtMs: options.clock(),
    ...outcome,
  });
  if (outcome.status === "failed") result.failed += 1;
  if (outcome.status === "parked") result.parked += 1;
  if (outcome.status !== "done") return;
  result.resolved += 1;
  const now = themes.ofSession(sessionId).find((other) => other.theme.root === root);
  if (now === undefined || now.logPosition > state.logPosition) result.stale += 1;
}

/** The reason with which a closing store stops what is under way. */
export function closedReason(path: string): StoreError<"STORE_CLOSED"> {
  return new StoreError("STORE_CLOSED", { path });
}
