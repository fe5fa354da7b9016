/**
 * What became of one summary, while it is happening.
 *
 * `started`: the summarizer is at it. `resolved`: there is a summary. `failed`: there is none, and a later call tries again, not
 * before `nextTryAtMs`. `parked`: there is none, and there will be none before more is to be summarized, or before `nextTryAtMs`.
 * `deferred`: nobody was asked. `stood_in`: the extractive summarizer has made one meanwhile, at no cost.
 */
export interface ResolveEvent {
  kind: "started" | "resolved" | "failed" | "parked" | "deferred" | "stood_in";
  sessionId: string;
  /** Of what is summarized: `theme:123@456`, `span:12@480`. */
  handle: string;
  /** Of the summary; `resolved` and `stood_in`. */
  tokenCount?: number;
  /** What the calls cost, where the service reports it, also those that failed. US dollars. */
  inputTokens?: number;
  outputTokens?: number;
  costUsd?: number;
  /** More has come to be summarized meanwhile, or the summary was of no use any more; `resolved`. */
  isStale?: boolean;
  /** Why there is no summary; `failed` and `parked`. */
  error?: string;
  /** The error's, where it has one. */
  errorCode?: string;
  /** Why nobody was asked; `deferred`. */
  reason?: DeferReason;
  /** Unix milliseconds, where it is known. */
  nextTryAtMs?: number;
}

/**
 * `backing_off`: the last try failed a moment ago. `claimed`: another process is at it. `limit`: it may cost more than `callsMax`
 * or `tokensMax` leave. `stopped`: the service wants to be left alone, or refuses the key or the settings.
 */
export type DeferReason = "backing_off" | "claimed" | "limit" | "stopped";

/** Told of each event as it happens. What it throws is shown as a warning of the process, and changes nothing. */
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
