import type { RenderResult } from "../context/result.ts";
import type { SessionLevel } from "../core/handle.ts";
import type { Message, MessageInput } from "../core/message.ts";
import type { AppendResult } from "../ingest/append.ts";
import type { SessionOverview } from "../store/sessions.ts";
import type { ResolveResult } from "../summaries/resolve-run.ts";
import type { CompactResult } from "../summaries/span.ts";
import type { Resolving } from "./background.ts";
import type { ContextOptions, RenderOptions } from "./context-options.ts";
import type { Pressure } from "./pressure.ts";
import type { ResolveDirtyOptions, StartResolvingOptions } from "./resolver.ts";
import type { RootInfo } from "./roots.ts";

export interface MessagesOptions {
  /** The first seq, inclusive; by default 0. */
  seqFrom?: number;
  /** The last seq, inclusive; by default the session's last. */
  seqTo?: number;
  /** The most messages to return: 0 to 10,000, the default. To read more, continue after the last one's seq. */
  limit?: number;
}

/**
 * One agent's conversation. You append to it, render it for the next model call, and look into its forest.
 *
 * Every method except `resolveDirty` is synchronous and calls no model and no network. Any number of processes may use the
 * same session: each sees what the others have written at its next call.
 */
export interface Session {
  readonly id: string;
  /** Null if the session has none. */
  readonly project: string | null;

  /**
   * Appends one message. When this returns, the message is on disk with its embedding and its parent pointer; a remote
   * embedder's vector comes later, see `Store.embedPending`.
   *
   * @param options.seq  The seq that the message must get. If another writer was faster, `SESSION_CHANGED` is thrown.
   * @returns the message's id and seq. A message whose `id` is already stored with the same content is not appended again.
   * @throws {StoreError} `MESSAGE_INVALID`, `MESSAGE_CONFLICT`, `SESSION_CHANGED`, `STORE_READONLY`, `STORE_CLOSED`,
   *   `STORE_BUSY`, `FILE_NOT_USABLE`, `FILE_REPLACED`, `STORE_CORRUPT`. Then nothing was written.
   */
  append(message: MessageInput, options?: { seq?: number }): AppendResult;

  /** Appends several messages in one transaction: all of them, or none. */
  appendAll(messages: readonly MessageInput[], options?: { seq?: number }): AppendResult[];

  /**
   * Appends what is new in the host's own message array, which the host passes whole on each turn. Messages are matched by
   * `id` or by content, never by position, so a truncated or compressed array loses and repeats nothing. Give ids if several
   * writers share a session or if the host goes back and repeats itself: content alone is then ambiguous.
   *
   * @returns one entry for each new message.
   * @throws {StoreError} `MESSAGE_CONFLICT` if a message differs from what is stored under its `id`; `SESSION_CHANGED` if other
   *   writers were faster ten times in a row.
   */
  sync(history: readonly MessageInput[]): AppendResult[];

  /**
   * Returns the context for the next model call: pinned and system messages, what remains of the old conversation, and the
   * newest messages word for word.
   *
   * The result is a pure function of what is stored, and nothing is written. Until the frontier moves, everything before the
   * newly appended messages stays byte-identical. With a query, evidence is inserted before the newest step, and nothing
   * before the evidence depends on the query: see `stablePrefixTokens`.
   *
   * @throws {StoreError} `BUDGET_TOO_SMALL` if the pinned messages and the newest step do not fit; `QUERY_EMPTY`;
   *   `OPTION_INVALID`, also for the scope `project` if the session has no project, and for a query with a strategy other than
   *   `union-find`.
   */
  render(options?: RenderOptions): RenderResult;

  /**
   * Returns how full the context for the next model call is, and how much compacting would free. The query is left out: a
   * context with evidence always fills its budget.
   *
   * @throws {StoreError} `OPTION_INVALID`. A budget that is too small is reported, not thrown.
   */
  pressure(options?: ContextOptions): Pressure;

  /**
   * Makes the summaries that are due, usually while the caller waits for its own model. With `union-find`, a context shows
   * them after the next move of the frontier. `flat` and `sandwich` make one summary if a context of `contextTokensMax` is
   * fuller than their trigger or `compact` has asked for it, and show it at once. Vectors that are due are requested at the
   * same time (see `Store.embedPending`). Afterwards the store does its upkeep; an error of the upkeep is not thrown here.
   *
   * No summary is paid for twice: a claim is stored before each call, and other processes leave the summary alone. A claim
   * expires after 45 s unless its owner renews it. After a failure, the next try waits for a delay that doubles each time or
   * that the service asks for. A summary that the model refused is not requested again until messages come or the summarizer
   * changes. If the key or the settings were refused, the next try comes after an hour or in a newly opened store. The
   * extractive summarizer stands in for a summary that could not be made.
   *
   * @returns how many themes were resolved, failed, stale (they grew meanwhile), parked (no shorter summary is possible, or
   *   it was refused) and deferred (not requested).
   * @throws the signal's reason within milliseconds of an abort, `STORE_CLOSED` when the store closes, `STORE_BUSY` and
   *   `STORE_CORRUPT` if the result cannot be written. Summaries recorded by then stay. A failing model never rejects.
   */
  resolveDirty(options?: ResolveDirtyOptions): Promise<ResolveResult>;

  /**
   * Runs `resolveDirty` in the background: now, after each append of this process, and when a failed summary is due again,
   * until it is stopped or the store closes. The limits hold for all runs together. An error does not end it, it keeps no
   * process alive, and it uses no time while nothing is due. Starting it again stops the earlier one.
   *
   * @throws {StoreError} `OPTION_INVALID`, `STORE_READONLY`, `STORE_CLOSED`.
   */
  startResolving(options?: StartResolvingOptions): Resolving;

  /**
   * Compacts the context now, however full it is. Nothing is deleted, and the call waits for no model.
   *
   * `union-find` moves the frontier: all messages but the newest `hotSize` enter the forest, all but the newest
   * `hotSize + overlap` leave the window, and the context shows every summary that is ready. `flat` and `sandwich` record
   * which messages to summarize; the next `resolveDirty` makes the summary.
   *
   * @returns true, or the reason why nothing was done: `nothing_to_compress` (nothing is left to move, everything fits into
   *   what stays verbatim, or the summary would be no shorter), `middle_too_small` (fewer messages than the session's
   *   minimum), `already_due` (recorded before and not yet summarized), `never_compacted` (the strategy `full`).
   * @throws {StoreError} `OPTION_INVALID`, and what `append` throws.
   */
  compact(options?: ContextOptions): CompactResult;

  /** Returns messages as they were appended, in order of seq. */
  messages(options?: MessagesOptions): Message[];

  /** Returns the newest message, or undefined if there is none. */
  newest(): Message | undefined;

  /** Returns the roots of the session's forest, oldest first: its themes, or its clusters with `level: "cluster"`. */
  roots(options?: { level?: SessionLevel }): RootInfo[];

  /** Returns counts, times and names. It counts every message; `project` is cheaper. */
  info(): SessionOverview;
}
