/**
 * What became of one summary.
 *
 * - `started`: the summarizer was called.
 * - `resolved`: there is a summary.
 * - `failed`: there is none. A later call tries again, not before `nextTryAtMs`.
 * - `parked`: there is none, and none is tried before there is more to summarize, or before `nextTryAtMs`.
 * - `deferred`: the summarizer was not called.
 * - `stood_in`: the extractive summarizer made one meanwhile, at no cost.
 */
export interface ResolveEvent {
  kind: "started" | "resolved" | "failed" | "parked" | "deferred" | "stood_in";
  sessionId: string;
  /** Names what is summarized: `theme:123@456`, `span:12@480`. */
  handle: string;
  /** The tokens of the summary; with `resolved` and `stood_in`. */
  tokenCount?: number;
  /** The tokens and US dollars of all calls, failed ones included, if the service reports them. */
  inputTokens?: number;
  outputTokens?: number;
  costUsd?: number;
  /** True if there was more to summarize by then, or the summary was no longer of use; with `resolved`. */
  isStale?: boolean;
  /** Why there is no summary; with `failed` and `parked`. */
  error?: string;
  /** The code of the error, if it has one. */
  errorCode?: string;
  /** Why the summarizer was not called; with `deferred`. */
  reason?: DeferReason;
  /** Unix milliseconds, if known. */
  nextTryAtMs?: number;
}

/**
 * - `backing_off`: the last try failed a moment ago.
 * - `claimed`: another process is making it.
 * - `limit`: it may cost more than `callsMax` or `tokensMax` leave.
 * - `stopped`: the service asked for a pause, or refused the key or the settings.
 */
export type DeferReason = "backing_off" | "claimed" | "limit" | "stopped";

/** Called with each event as it happens. An error that it throws becomes a warning of the process. */
export type OnResolveEvent = (event: ResolveEvent) => void;

export function tell(onEvent: OnResolveEvent | undefined, event: ResolveEvent): void {
  if (onEvent === undefined) return;
  const warn = (error: unknown): void => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.emitWarning(`A listener of resolveDirty has failed: ${text}`, "CoppiceWarning");
  };
  try {
    const result: unknown = onEvent(event);
    if (result instanceof Promise) result.catch(warn);
  } catch (error) {
    warn(error);
  }
}
