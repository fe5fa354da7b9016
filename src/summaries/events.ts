/**
 * An event about one summary.
 *
 * - `started`: the summarizer was called.
 * - `resolved`: the summarizer made the summary.
 * - `failed`: the summarizer failed. It is tried again from `nextTryAtMs` on.
 * - `parked`: the same request would fail again. The next try waits for more messages, or for `nextTryAtMs` if given.
 * - `deferred`: the summarizer was not called, for the given `reason`.
 * - `stood_in`: the extractive summarizer made a stand-in, at no cost.
 */
export interface ResolveEvent {
  kind: "started" | "resolved" | "failed" | "parked" | "deferred" | "stood_in";
  sessionId: string;
  /** Names the cluster or span: `cluster:123@456`, `span:12@480`. */
  handle: string;
  /** The tokens of the summary; with `resolved` and `stood_in`. */
  tokenCount?: number;
  /**
   * The tokens and US dollars of all calls, even of failed ones, if the service reports them. If clusters share a call, only the
   * event of the first one has these fields.
   */
  inputTokens?: number;
  outputTokens?: number;
  costUsd?: number;
  /** With `resolved`: true if the summary was not recorded, because its messages were forgotten or summarized elsewhere. */
  isStale?: boolean;
  /** Why there is no summary; with `failed` and `parked`. */
  error?: string;
  errorCode?: string;
  /** Why the summarizer was not called; with `deferred`. */
  reason?: DeferReason;
  /** Unix milliseconds, if known. */
  nextTryAtMs?: number;
}

/**
 * Why the summarizer was not called:
 *
 * - `backing_off`: the last try failed, and its delay is not over.
 * - `claimed`: another process is making the summary, or has taken it over because this one was slow.
 * - `limit`: the calls might exceed `callsMax` or `tokensMax`.
 * - `stopped`: the service asked for a pause, or refused the key or the settings.
 */
export type DeferReason = "backing_off" | "claimed" | "limit" | "stopped";

/** Called with each event as it happens. An error that this function throws becomes a warning of the process. */
export type OnResolveEvent = (event: ResolveEvent) => void;
