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
  /** The most messages to return: 0 to 10,000 (the default). To read more, continue after the seq of the last one. */
  limit?: number;
}

/**
 * One agent's conversation. You append messages, render a context for the next model call, and inspect the forest.
 *
 * Every method except `resolveDirty` is synchronous and calls no remote model. Any number of processes may use the same session.
 * Each call sees everything that other processes have written before.
 */
export interface Session {
  readonly id: string;
  /** Null if the session has none. */
  readonly project: string | null;

  /**
   * Appends one message. When this returns, the message is on disk, and so is its vector if the embedder is local.
   *
   * @param options.seq  The seq that the message must get. If the session's next seq is another, `SESSION_CHANGED` is thrown.
   * @returns the message's id and seq. A message whose `id` is already stored with the same content is not appended again.
   * @throws {StoreError} `MESSAGE_INVALID`, `MESSAGE_CONFLICT`, `SESSION_CHANGED`, `STORE_READONLY`, `STORE_CLOSED`,
   *   `STORE_BUSY`, `FILE_NOT_USABLE`, `FILE_REPLACED`, `STORE_CORRUPT`. Then nothing was written.
   */
  append(message: MessageInput, options?: { seq?: number }): AppendResult;

  /**
   * Appends several messages in one transaction: all of them, or none.
   *
   * @param options.seq  The seq that the first message must get.
   * @throws {StoreError} the errors of `append`.
   */
  appendAll(messages: readonly MessageInput[], options?: { seq?: number }): AppendResult[];

  /**
   * Appends the new messages of the host's own message array, which the host passes whole on each turn. Messages are matched by
   * `id` or by content, never by index, so no message is lost or repeated if the host has shortened its array. Give ids if several
   * writers share a session, or if the host goes back and repeats itself, because content alone is then ambiguous.
   *
   * @returns one entry for each new message, in order.
   * @throws {StoreError} the errors of `append`; `MESSAGE_CONFLICT` if a message differs from the stored one with its `id`;
   *   `SESSION_CHANGED` if other writers were faster ten times in a row.
   */
  sync(history: readonly MessageInput[]): AppendResult[];

  /**
   * Returns the context for the next model call: pinned and system messages, summaries and pointers for old messages, and the
   * newest messages word for word.
   *
   * The result depends only on the stored data and the options, and nothing is written. Until the frontier moves, everything
   * before the newly appended messages stays byte-identical. With a query, evidence is inserted before the newest step, and
   * nothing before the evidence depends on the query: see `stablePrefixTokens`.
   *
   * @throws {StoreError} `BUDGET_TOO_SMALL` if the pinned messages and the newest step do not fit; `QUERY_EMPTY`;
   *   `OPTION_INVALID`, also for the scope `project` if the session has no project, and for a query with a strategy other than
   *   `union-find`.
   */
  render(options?: RenderOptions): RenderResult;

  /**
   * Returns how full the context for the next model call is, and how many tokens `compact` would free. If the budget is too
   * small, the result says so.
   *
   * @throws {StoreError} `OPTION_INVALID`.
   */
  pressure(options?: ContextOptions): Pressure;

  /**
   * Makes the summaries that are due. Call it while your own model works, for example. With `union-find`, contexts show the
   * summaries after the next move of the frontier. With `flat` and `sandwich`, one summary is due if a context of
   * `contextTokensMax` is fuller than the trigger, or if `compact` has marked it; contexts show it at once. Vectors that are due
   * are requested at the same time. Then the store does its upkeep, whose errors are not thrown.
   *
   * No summary is paid for twice: other processes skip it while it is made, and for 45 s if this process dies. After a failure,
   * the next try waits for a delay that doubles each time, or that the service asks for. A summary that the model refused is not
   * requested again until the theme grows or the summarizer changes. If the key or the settings were refused, the next try is
   * made after an hour or in a newly opened store. Until then the extractive summarizer makes a stand-in.
   *
   * @returns the numbers of themes by result.
   * @throws the signal's reason within milliseconds of an abort; {StoreError} `STORE_CLOSED` when the store closes; `STORE_BUSY`
   *   and `STORE_CORRUPT` if a result cannot be written. Summaries recorded by then stay. An error of the summarizer does not
   *   reject.
   */
  resolveDirty(options?: ResolveDirtyOptions): Promise<ResolveResult>;

  /**
   * Runs `resolveDirty` in the background until it is stopped or the store closes: now, after each append of this process, and
   * when a failed summary may be tried again. The limits apply to all runs together. An error does not end it. It does not keep
   * the process alive. A second call stops the work that the first one started.
   *
   * @throws {StoreError} `OPTION_INVALID`, `STORE_READONLY`, `STORE_CLOSED`.
   */
  startResolving(options?: StartResolvingOptions): Resolving;

  /**
   * Compacts the context now, however full it is. Nothing is deleted, and no model is called.
   *
   * With `union-find`, the frontier moves: all messages except the newest `hotSize` enter the forest, all except the newest
   * `hotSize + overlap` leave the window, and contexts show every finished summary. With `flat` and `sandwich`, a summary is
   * marked as due, and the next `resolveDirty` makes it.
   *
   * @returns `{ compacted: true }`, or `{ compacted: false, reason }`:
   *
   *   - `nothing_to_compress`: no message can be moved or summarized, or the summary would be no shorter than its sources.
   *   - `middle_too_small`: there are fewer messages to summarize than `sandwichMessagesMin`.
   *   - `already_due`: the summary was marked before and has not been made yet.
   *   - `never_compacted`: the strategy is `full`.
   * @throws {StoreError} `OPTION_INVALID`; the errors of `append`.
   */
  compact(options?: ContextOptions): CompactResult;

  /** Returns messages as they were appended, in order of seq. */
  messages(options?: MessagesOptions): Message[];

  /** Returns the newest message, or undefined if there is none. */
  newest(): Message | undefined;

  /** Returns the roots of the session's forest, oldest first: its themes, or its clusters with `level: "cluster"`. */
  roots(options?: { level?: SessionLevel }): RootInfo[];

  /** Returns counts, times and names. It counts every message, so use `project` if you need only that. */
  info(): SessionOverview;
}
