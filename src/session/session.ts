import type { RenderResult } from "../context/result.ts";
import type { SessionLevel } from "../core/handle.ts";
import type { Message, MessageInput } from "../core/message.ts";
import type { AppendResult } from "../ingest/append.ts";
import type { Branch, SessionOverview } from "../store/index.ts";
import type { ResolveResult } from "../summaries/resolve-run.ts";
import type { CompactResult } from "../summaries/span.ts";
import type { Resolving } from "./background.ts";
import type { ContextOptions, RenderOptions } from "./context-options.ts";
import type { Entries } from "./entries.ts";
import type { Pressure } from "./pressure.ts";
import type { ResolveDirtyOptions, StartResolvingOptions } from "./resolver.ts";
import type { ClusterInfo, RootInfo, ThemeInfo } from "./roots.ts";

export type { AppendResult } from "../ingest/append.ts";

export interface AppendOptions {
  seq?: number;
}

export interface MessagesOptions {
  /** The first seq, inclusive; by default 0. */
  seqFrom?: number;
  /** The last seq, inclusive; by default the session's last. */
  seqTo?: number;
  /** The most messages to return: 0 to 10,000 (the default). For the next page, set `seqFrom` to the last seq plus 1. */
  limit?: number;
  /** Returns only the newest of them: 0 to 10,000, in order of seq. */
  last?: number;
}

/** A title and tags have 1 to 512 characters, without control characters. */
export interface SessionChanges {
  title?: string;
  addTags?: readonly string[];
  removeTags?: readonly string[];
}

/** The last message that stays: its seq (-1 if none stays), or its id. */
export interface RewindOptions {
  toSeq?: number;
  toMessageId?: number;
}

export interface ForkOptions extends RewindOptions {
  /** The id of the fork; by default a new one. No session may have it. */
  id?: string;
  /** By default the title of the session. */
  title?: string;
}

export interface RewindResult {
  /** The branch that holds the superseded messages and entries; null if there were none. */
  branchId: string | null;
  supersededCount: number;
}

export interface UndoResult {
  /** The messages that came back. */
  restoredCount: number;
  /** The messages that were appended since, and are superseded now. */
  supersededCount: number;
}

/**
 * One agent's conversation. You append messages, render a context for the next model call, and inspect the forest.
 *
 * Every method except `resolveDirty` is synchronous and calls no remote model. Any number of processes may use the same session.
 * Each call sees everything that was written before, by any process.
 */
export interface Session {
  readonly id: string;
  /** Null if the session has none. */
  readonly project: string | null;

  /**
   * Appends one message, or several in one transaction. When this returns, they are on disk. If the embedder is local, their vectors
   * are too.
   *
   * @param options.seq  The seq that the first message must get. If the session's next seq is another, `SESSION_CHANGED` is thrown.
   * @returns the message's id and seq; for several messages, a list of these. If a message with the same `id` and content is already
   *   stored, or was forgotten, nothing is appended.
   * @throws {StoreError} `MESSAGE_INVALID`, `MESSAGE_CONFLICT`, `SESSION_CHANGED`, `STORE_READONLY`, `STORE_CLOSED`,
   *   `STORE_BUSY`, `FILE_NOT_USABLE`, `STORE_CORRUPT`. Then nothing was written.
   */
  append(messages: readonly MessageInput[], options?: AppendOptions): AppendResult[];
  append(message: MessageInput, options?: AppendOptions): AppendResult;

  /**
   * Appends the new messages of the host's message array. Pass the whole array on each turn. Messages are matched by `id` or by
   * content. The host may shorten its array: no message is lost or stored twice. Give ids if several writers share a session, or
   * if the host goes back and repeats messages, because content alone is then ambiguous. Messages that were forgotten here are not
   * appended again; the same words are, if the user says them again. Only ids tell the two apart if the array has lost the
   * forgotten message and everything that was stored after it: without them, the words are taken for the forgotten message.
   *
   * @returns one entry for each new message, in order.
   * @throws {StoreError} the errors of `append`; `MESSAGE_CONFLICT` if a message differs from the stored one with the same `id`;
   *   `SESSION_CHANGED` if other writers were faster ten times in a row; `SESSION_FORGOTTEN` if the session is empty because all of
   *   it was forgotten, and the array begins like it did.
   */
  sync(history: readonly MessageInput[]): AppendResult[];

  /**
   * Returns the context for the next model call: pinned and system messages, summaries, quotes and pointers for old messages, and the
   * newest messages word for word.
   *
   * The result depends only on the stored data and the options, and nothing is written. Until the frontier moves, a later context
   * begins with the same bytes, and new messages follow them. With a query, evidence is inserted before the newest step.
   * Everything before the evidence is the same for every query: see `stablePrefixTokens`.
   *
   * @throws {StoreError} `BUDGET_TOO_SMALL` if the pinned messages and the newest step do not fit; `QUERY_EMPTY`;
   *   `OPTION_INVALID`, also for the scope `project` if the session has no project, and for a query if the strategy is not
   *   `union-find`.
   */
  render(options?: RenderOptions): RenderResult;

  /** Returns how full the next context is, and how many tokens `compact` would free. @throws {StoreError} `OPTION_INVALID`. */
  pressure(options?: ContextOptions): Pressure;

  /**
   * Makes the summaries that are due. Call it, for example, while your own model works.
   *
   * - With `union-find`, a model summarizes what has left the window, at least `resolveTokensMin` new tokens at a time. Contexts show
   *   the summaries after the next move of the frontier. The extractive summarizer makes none, because contexts quote more.
   * - With `flat` and `sandwich`, one summary is due if a context of `contextTokensMax` is fuller than the trigger, or if
   *   `compact` has marked it. Contexts show it at once.
   *
   * Vectors that are due are requested at the same time. Then the store does its upkeep, whose errors are not thrown.
   *
   * Two processes never pay for the same summary: one claims it, and the claim expires 45 s after that process dies. After a
   * failure, the next try comes after a delay that doubles each time, or that the service asks for. If the model refused a
   * summary, it is tried again after the cluster grows or the summarizer changes. If the service refused the key or the settings,
   * the next try comes after an hour, or when a store is opened again. Until then the extractive summarizer makes a stand-in for
   * the summary of `flat` or `sandwich`. A paid reply is written as soon as other processes let it be, while its claim holds.
   *
   * @returns the numbers of clusters by result.
   * @throws the signal's reason within milliseconds of an abort; {StoreError} `STORE_CLOSED` when the store closes; `STORE_BUSY`
   *   and `STORE_CORRUPT` if a result cannot be written. Finished summaries stay. An error of the summarizer does not reject.
   */
  resolveDirty(options?: ResolveDirtyOptions): Promise<ResolveResult>;

  /**
   * Runs `resolveDirty` in the background until you stop it or the store closes: now, after each append of this process, and when
   * a failed summary may be tried again. The limits apply to all runs together. Errors do not end the work, and it does not keep
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
   * - `nothing_to_compress`: no message can be moved or summarized, or the summary would not be shorter than its sources.
   * - `middle_too_small`: there are fewer messages to summarize than `sandwichMessagesMin`.
   * - `already_due`: an earlier call has marked the summary, and it has not been made yet.
   * - `never_compacted`: the strategy is `full`.
   * @throws {StoreError} `OPTION_INVALID`; the errors of `append`.
   */
  compact(options?: ContextOptions): CompactResult;

  /**
   * Gives the session another title, and adds and then takes away tags. `info().tags` has its tags, and `store.sessions({ tag })` finds it.
   * Lists for people leave out a session with the tag `hidden`; `recall` still finds what it says. Tags stay in this file: they are
   * not moved or pushed.
   *
   * @throws {StoreError} `OPTION_INVALID`, `STORE_READONLY`. Then nothing was changed.
   */
  update(changes: SessionChanges): void;

  /**
   * Goes back: the session then ends with the message that you name, and the next one gets the seq after it. The later messages
   * are superseded, not deleted. They keep their ids in a branch, and contexts, themes and `recall` do not have them. The forest
   * is as it was when the message was the newest. Handles from before still expand to the same messages.
   *
   * If a tool call stays and its result does not, the call is open again.
   *
   * @throws {StoreError} `MESSAGE_NOT_FOUND` for an id that is not on the path of this session; `OPTION_INVALID` for a seq that
   *   the session does not have; the errors of `append`.
   */
  rewind(options: RewindOptions): RewindResult;

  /**
   * Begins another session that shares the messages of this one up to the message that you name, by default the newest, and the
   * forest as it was when that message was the newest. Nothing of it is copied. Both sessions then go on independently.
   *
   * What is shared stays: while the fork exists, `rewind`, `edit`, `undo` and `forget` refuse to change the shared messages, in
   * this session and in the fork.
   *
   * @throws {StoreError} `OPTION_INVALID` for a message whose step goes on after it or waits for results, for an empty session, and
   *   for an id that is taken; `MESSAGE_NOT_FOUND`; the errors of `append`.
   */
  fork(options?: ForkOptions): Session;

  /**
   * Pins a message with its step, so that every context shows it word for word, or unpins it with `pinned: false`.
   *
   * @throws {StoreError} `OPTION_INVALID` for a message that has graduated, because the log says when it entered the forest, and
   *   to unpin a system message; `MESSAGE_NOT_FOUND`, `STORE_READONLY`.
   */
  pin(messageId: number, options?: { pinned?: boolean }): void;

  /**
   * Undoes the last `rewind` or `edit` that was not undone yet. The superseded messages come back with their ids, and what was appended
   * since is superseded. If there is nothing to undo, both counts are 0. @throws {StoreError} the errors of `append`.
   */
  undo(): UndoResult;

  /**
   * Replaces a message by another one. The message and all later ones are superseded, as by `rewind`, and the new one is appended.
   * `undo` restores them.
   *
   * @throws {StoreError} `MESSAGE_NOT_FOUND` for an id that is not on the path of this session; the errors of `append`.
   */
  edit(messageId: number, message: MessageInput): AppendResult;

  /** Returns the branches that hold superseded messages. `undo` brings back the last one that is undoable. */
  branches(): Branch[];

  /** Returns messages as they were appended, in order of seq. */
  messages(options?: MessagesOptions): Message[];

  /** JSON of your program that is in order with the messages, but is no message. */
  readonly entries: Entries;

  /** Returns the themes of the session, oldest first; with `level: "cluster"`, the clusters. */
  roots(options?: { level?: "theme" }): ThemeInfo[];
  roots(options: { level: "cluster" }): ClusterInfo[];
  roots(options?: { level?: SessionLevel }): RootInfo[];

  /** Returns counts, times and names. This counts every message. If you need only the project, use `project`. */
  info(): SessionOverview;
}
