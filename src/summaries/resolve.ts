import { createHash } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { StoreError } from "../core/errors.ts";
import type { SessionSettings } from "../core/options.ts";
import type { TokenCounter } from "../core/tokens.ts";
import type { SourceText, Summarizer, SummaryText } from "../models/summarizer.ts";
import type { Repositories } from "../store/repositories.ts";
import { recordSummary } from "../store/write.ts";
import { type DirtyTheme, dirtyRoots, loadDirtyTheme } from "./dirty.ts";

/** Tokens of sources handed over in one call; a theme with more is read in several, each building on the last. */
const CALL_TOKENS_MAX = 24_000;

/** Characters of a title, which is to be a few words on one line. */
const TITLE_CHARS_MAX = 200;

/** Calls under way at once, unless the caller says otherwise. */
export const RESOLVE_CONCURRENCY = 4;

export interface ResolveOptions {
  summarizer: Summarizer;
  tokenCounter: TokenCounter;
  settings: SessionSettings;
  clock: Clock;
  concurrency: number;
  /** Aborted by the caller, or by the store when it closes. */
  signal: AbortSignal;
}

/** How many themes went which way. */
export interface ResolveResult {
  /** Have a new summary. */
  resolved: number;
  /** The summarizer failed or answered what cannot be used; tried again next time. */
  failed: number;
  /** Of `resolved`: grew while they were being summarized, so they are dirty again. */
  stale: number;
  /** Cannot be made shorter than they are; left alone until they grow. */
  parked: number;
}

/**
 * Give every dirty theme of a session a summary that covers all of it.
 *
 * A theme is dirty while at least `resolveTokensMin` tokens of it stand in no summary, or while it stands on more than a
 * few summaries of its parts. No transaction is open while the summarizer works; what it read is named by a log
 * position, so whatever happens meanwhile, the result is true of that position and is kept. The context shows it from the
 * next move of the frontier on.
 *
 * @throws the signal's reason if it is aborted; summaries recorded by then stay. A failing summarizer never rejects.
 */
export async function resolveDirty(
  repositories: Repositories,
  sessionId: string,
  options: ResolveOptions,
): Promise<ResolveResult> {
  options.signal.throwIfAborted();
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

  const outcome = await summarize(theme, options);
  options.signal.throwIfAborted();
  const { state } = theme;
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

type Outcome =
  | { status: "done"; title: string; text: string; tokenCount: number }
  | { status: "failed" | "parked"; error: string };

async function summarize(theme: DirtyTheme, options: ResolveOptions): Promise<Outcome> {
  const { summarizer, tokenCounter, settings, signal } = options;
  const tokensMax = settings.summaryTokensMax;
  const countTokens = (text: string): number => tokenCounter.count(text);
  let previous: readonly SummaryText[] = theme.previous.map(({ title, text }) => ({ title, text }));
  try {
    for (const sources of callsOf(theme, countTokens)) {
      const summary = summarizer.summarize({ previous, sources, tokensMax, countTokens, signal });
      previous = [checked(await untilAborted(summary, signal), tokensMax, countTokens)];
    }
  } catch (error) {
    return { status: "failed", error: error instanceof Error ? error.message : String(error) };
  }
  const { title, text } = previous[0]!;
  const tokenCount = countTokens(text) + countTokens(title);
  const sourceTokens = theme.state.theme.tokenCount;
  if (tokenCount >= sourceTokens) {
    return { status: "parked", error: `inflated: ${tokenCount} tokens for sources of ${sourceTokens}` };
  }
  return { status: "done", title, text, tokenCount };
}

/** The sources in portions of at most `CALL_TOKENS_MAX`, or one without sources where only parts are to be put together. */
function callsOf(theme: DirtyTheme, countTokens: (text: string) => number): SourceText[][] {
  const calls: SourceText[][] = [[]];
  let tokens = 0;
  for (const { seq, role, name, text, createdAtMs } of theme.sources) {
    const cost = countTokens(text);
    if (tokens > 0 && tokens + cost > CALL_TOKENS_MAX) {
      calls.push([]);
      tokens = 0;
    }
    tokens += cost;
    calls.at(-1)!.push(name === undefined ? { seq, role, text, createdAtMs } : { seq, role, name, text, createdAtMs });
  }
  return calls;
}

function checked(summary: SummaryText, tokensMax: number, countTokens: (text: string) => number): SummaryText {
  if (!(summary.title.length <= TITLE_CHARS_MAX))
    throw new Error("the summarizer answered with a title that is no line");
  if (summary.text.trim() === "") throw new Error("the summarizer answered with an empty text");
  const tokens = countTokens(summary.text);
  if (tokens > tokensMax)
    throw new Error(`the summarizer answered with ${tokens} tokens; at most ${tokensMax} were allowed`);
  return summary;
}

/** As `promise` ends, unless the signal comes first: a summarizer that does not listen to it holds nobody up. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The reason with which a closing store stops what is under way. */
export function closedReason(path: string): StoreError<"STORE_CLOSED"> {
  return new StoreError("STORE_CLOSED", { path });
}
