import type { RenderResult } from "../context/result.ts";
import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import type { SessionLevel } from "../core/handle.ts";
import { BATCH_MESSAGES_MAX, PAGE_LIMIT_MAX } from "../core/limits.ts";
import { type Message, type MessageInput, type ParsedMessage, parseMessage } from "../core/message.ts";
import { oneOf, wholeNumber } from "../core/options.ts";
import { type AppendResult, append, catchUp, compact } from "../ingest/append.ts";
import { prepareMessage } from "../ingest/prepare.ts";
import { newMessages, type SyncKey } from "../ingest/sync.ts";
import { loadSessionState, type SessionState } from "../store/session-state.ts";
import type { SessionOverview } from "../store/sessions.ts";
import type { ResolveResult } from "../summaries/resolve-run.ts";
import { type CompactResult, compactSpan, type SplitOptions } from "../summaries/span.ts";
import type { Resolving } from "./background.ts";
import { CONTEXT_OPTIONS, type ContextOptions, Contexts, type RenderOptions } from "./contexts.ts";
import type { SessionPorts } from "./ports.ts";
import type { PreparedMessage } from "./prepared.ts";
import type { Pressure } from "./pressure.ts";
import { type ResolveDirtyOptions, Resolver, type StartResolvingOptions } from "./resolver.ts";
import { type RootInfo, rootsOf } from "./roots.ts";

export interface MessagesOptions {
  /** First place, inclusive. */
  seqFrom?: number;
  /** Last place, inclusive; the session's last if left out. */
  seqTo?: number;
  /** Most messages, from `seqFrom` on: at most 10,000, and so many unless given. For more, go on from the last one's seq. */
  limit?: number;
}

/** Comparisons of one `sync` with a session that others are writing to. */
const SYNC_ATTEMPTS_MAX = 10;

/** `appendAll` of messages that were prepared in another thread, for the importers of this package: see `takesPrepared`. */
export let appendPrepared: (session: Session, prepared: readonly PreparedMessage[]) => AppendResult[];

/** Drop what a session holds in memory, for whoever goes through many: it is loaded again when it is needed. */
export let release: (session: Session) => void;

/** `resolveDirty` without the upkeep of the store, for whoever resolves many sessions and lets the store do it once. */
export let resolveAlone: (session: Session, options?: { signal?: AbortSignal }) => Promise<ResolveResult>;

/**
 * One agent's conversation: append to it, render it for the next model call, look into its forest.
 *
 * Every method but `resolveDirty` is synchronous and calls no model and no network. Any number of processes may hold
 * the same session: each sees what the others have written at its next call.
 */
export class Session {
  static {
    release = (session) => session.#release();
    resolveAlone = async (session, options = {}) => (await session.#resolver.resolveDirty(options, false)).result;
    appendPrepared = (session, prepared) => (prepared.length === 0 ? [] : session.#appendRows(prepared, undefined));
  }

  readonly id: string;
  readonly #ports: SessionPorts;
  #state: SessionState | undefined;
  #changesSeen = 0;
  #foreignMovesSeen = 0;
  /** What `sync` compares with, from its first use on. */
  #syncKeys: { keys: SyncKey[]; nextSeq: number } | undefined;
  #lastHistory: SyncKey[] = [];
  readonly #contexts: Contexts;
  readonly #resolver: Resolver;

  constructor(ports: SessionPorts, id: string) {
    this.#ports = ports;
    this.id = id;
    this.#contexts = new Contexts(ports, id, { current: () => this.#current(), reload: () => this.#reload() });
    this.#resolver = new Resolver(ports, id, {
      asked: (options) => this.#contexts.asked(options),
      splitOptions: (tokensMax) => this.#splitOptions(tokensMax),
    });
  }

  /**
   * Append one message. It is on disk, with its embedding and its parent pointer, when this returns; with a remote embedder
   * its vector comes later, see `store.embedPending`.
   *
   * @param options.seq  The place it must get; refused with `SESSION_CHANGED` if another writer was faster.
   * @returns its id and place. A message whose `id` is already there, with the same content, is not appended again.
   * @throws {StoreError} `MESSAGE_INVALID`, `MESSAGE_CONFLICT`, `SESSION_CHANGED`, `STORE_READONLY`, `STORE_CLOSED`,
   *   `STORE_BUSY`, `FILE_NOT_USABLE`, `FILE_REPLACED`, `STORE_CORRUPT`. Nothing was written then.
   */
  append(message: MessageInput, options: { seq?: number } = {}): AppendResult {
    return this.#append([message], options.seq)[0]!;
  }

  /** Append several messages in one transaction: all of them, or none. */
  appendAll(messages: readonly MessageInput[], options: { seq?: number } = {}): AppendResult[] {
    return messages.length === 0 ? [] : this.#append(messages, options.seq);
  }

  /**
   * Append messages that the session had in another store, each at its place there. One whose place is taken is compared
   * with what stands there and not appended again, so that the same export can come twice.
   *
   * @param messages  With rising places. Where one is missing, those after it move up.
   * @throws {StoreError} as `append`; `MESSAGE_INVALID` where another message stands at a place.
   */
  restoreAll(messages: readonly { seq: number; message: MessageInput }[]): AppendResult[] {
    const { nextSeq } = this.#current();
    const known = messages.filter(({ seq }) => seq < nextSeq);
    const stored = known.length === 0 ? [] : this.messages({ seqFrom: known[0]!.seq, seqTo: known.at(-1)!.seq });
    const bySeq = new Map(stored.map((message) => [message.seq, message]));
    const results = known.map(({ seq, message }) => {
      const parsed = parseMessage(message);
      const there = bySeq.get(seq);
      if (there === undefined || there.externalId !== parsed.externalId || !digestOf(there).equals(digestOf(parsed))) {
        const reason = `another message stands at place ${seq} of session "${this.id}"`;
        throw new StoreError("MESSAGE_INVALID", { path: "seq", reason });
      }
      return { messageId: there.id, seq, appended: false };
    });
    const fresh = messages.slice(known.length).map(({ message }) => message);
    return [...results, ...this.appendAll(fresh, { seq: nextSeq })];
  }

  /**
   * Append what is new in the host's own message array, all of it passed each turn. Messages are matched by `id` or by
   * content, never by position, so an array that the host has truncated or compressed loses and repeats nothing. Content
   * alone cannot tell everything: where several writers share a session, or a host goes back and repeats itself, give ids.
   *
   * @returns one entry for each message that was new.
   * @throws {StoreError} `MESSAGE_CONFLICT` if a message's content is not what was stored under its `id`;
   *   `SESSION_CHANGED` if other writers were faster ten times over.
   */
  sync(history: readonly MessageInput[]): AppendResult[] {
    for (let attempt = 1; ; attempt++) {
      try {
        return this.#sync(history);
      } catch (error) {
        // Another writer came in between comparing and appending; some of it may be what is new here.
        if (!StoreError.is(error, "SESSION_CHANGED") || attempt === SYNC_ATTEMPTS_MAX) throw error;
      }
    }
  }

  #sync(history: readonly MessageInput[]): AppendResult[] {
    const parsed = history.map(parseMessage);
    const digests = parsed.map(digestOf);
    const { nextSeq } = this.#current();
    const { messages } = this.#ports.repositories;
    this.#syncKeys ??= { keys: [], nextSeq: 0 };
    if (this.#syncKeys.nextSeq < nextSeq) {
      this.#syncKeys.keys.push(...messages.syncKeys(this.id, this.#syncKeys.nextSeq));
      this.#syncKeys.nextSeq = nextSeq;
    }
    parsed.forEach(({ externalId }, index) => {
      const known = externalId === undefined ? undefined : messages.byExternalId(this.id, externalId);
      if (known === undefined || known.digest.equals(digests[index]!)) return;
      throw new StoreError("MESSAGE_CONFLICT", { sessionId: this.id, externalId: externalId!, messageId: known.id });
    });
    const keys = parsed.map((message, index) => ({
      externalId: message.externalId,
      digest: syncDigest(message, digests[index]!),
    }));
    const fresh = newMessages(keys, this.#syncKeys.keys, this.#lastHistory).map((index) => history[index]!);
    // In batches: a first sync of a long history must not keep other writers waiting. What is stored when one fails is found
    // again by the next sync.
    const results: AppendResult[] = [];
    for (let from = 0; from < fresh.length; from += BATCH_MESSAGES_MAX) {
      const batch = fresh.slice(from, from + BATCH_MESSAGES_MAX);
      results.push(...this.appendAll(batch, { seq: nextSeq + from }));
    }
    this.#lastHistory = keys;
    return results.filter(({ appended }) => appended);
  }

  /**
   * The context for the next model call: pinned and system messages, what is left of the old conversation, and the newest
   * messages word for word.
   *
   * A pure function of what is stored: it writes nothing. Until the frontier moves, everything before newly appended
   * messages stays byte-identical. With a query, messages that bear on it stand before the newest step, and nothing before
   * these depends on the query: `stablePrefixTokens` says how much that is.
   *
   * @throws {StoreError} `BUDGET_TOO_SMALL` if the pinned messages and the newest step do not fit; `OPTION_INVALID`, also
   *   for the scope of a project where the session has none, and for a query with another strategy than `union-find`;
   *   `QUERY_EMPTY`.
   */
  render(options: RenderOptions = {}): RenderResult {
    return this.#contexts.render(options);
  }

  /**
   * How full the context for the next model call is, and what compacting would win: to be asked before the call. Of the
   * context without a query; one with evidence is filled up to its budget.
   *
   * @throws {StoreError} `OPTION_INVALID`. A budget that is too small it only reports.
   */
  pressure(options: ContextOptions = {}): Pressure {
    return this.#contexts.pressure(options);
  }

  /**
   * Summarize what has no summary yet, in the background of the caller's own model call. A context of themes shows the result
   * from the next move of the frontier on. `flat` and `sandwich` make their one summary when a context of `contextTokensMax` is
   * fuller than their trigger, or `compact` has asked, and show it at once. Beside it the session's messages get the vectors
   * that are due, see `store.embedPending`. Then the store does its upkeep, see
   * `store.upkeep`; what fails there does not fail here.
   *
   * Nobody pays twice: before a call the summary is claimed in the file, for three quarters of a minute unless the process
   * lives on, and other processes leave it alone. What fails is not tried again before a delay that doubles each time, or that
   * the service asks for; what is refused waits for more messages, for another summarizer, or where the key or the settings
   * were refused, for an hour or a store that is opened anew. Where the summarizer has made no summary, that of the extractive
   * one stands in for it.
   *
   * @returns how many themes were resolved, failed, stale (grew meanwhile), parked (cannot be made shorter, or were refused)
   *   and deferred (were not asked for).
   * @throws the signal's reason when aborted, within milliseconds, `STORE_CLOSED` when the store closes, `STORE_BUSY` and
   *   `STORE_CORRUPT` where the result cannot be written. What was resolved by then stays. A failing model never rejects.
   */
  async resolveDirty(options: ResolveDirtyOptions = {}): Promise<ResolveResult> {
    return (await this.#resolver.resolveDirty(options)).result;
  }

  /**
   * Do what `resolveDirty` does now, after each append of this process, and when what failed may be tried again; until it is
   * stopped, or the store closes. Limits hold for all of that together. It survives what fails, keeps no process alive, and
   * takes no time while nothing is to be done.
   *
   * Started again, it goes on with the new options; what was started before is stopped.
   *
   * @throws {StoreError} `OPTION_INVALID`, `STORE_READONLY`, `STORE_CLOSED`.
   */
  startResolving(options: StartResolvingOptions = {}): Resolving {
    return this.#resolver.start(options);
  }

  /**
   * Compact the context now, however full it is. Nothing is deleted, and nothing is waited for.
   *
   * `union-find` moves the frontier: all but the newest `hotSize` messages enter the forest, all but those and `overlap` leave
   * the window, and the context takes in every summary that is ready. `flat` and `sandwich` note what is to be summarized,
   * by the split that a full context gets by itself; the next `resolveDirty` does it.
   *
   * @returns whether it did anything, and if not why: `nothing_to_compress` (all is where it should be, fits into what
   *   stays verbatim, or was found to be as short as its summary), `middle_too_small` (fewer than `middleMessagesMin` messages), `already_due` (noted before and not yet
   *   summarized), `never_compacted` (`full`).
   * @throws {StoreError} `OPTION_INVALID`, and as `append`.
   */
  compact(options: ContextOptions = {}): CompactResult {
    for (const name of Object.keys(options)) oneOf("an option of compact", name, CONTEXT_OPTIONS);
    const { repositories, embedder, clock } = this.#ports;
    const { strategy, tokensMax } = this.#contexts.asked(options);
    switch (strategy) {
      case "union-find": {
        const isMoved = this.#change((state) => compact(repositories, state, embedder));
        this.#resolver.wake();
        return isMoved ? { compacted: true } : { compacted: false, reason: "nothing_to_compress" };
      }
      case "full":
        return { compacted: false, reason: "never_compacted" };
      default: {
        const split = { ...this.#splitOptions(tokensMax), createdAtMs: clock() };
        const result = compactSpan(repositories, this.id, strategy, split);
        this.#resolver.wake();
        return result;
      }
    }
  }

  #splitOptions(tokensMax: number): SplitOptions {
    const { settings, openStep } = this.#current();
    return { settings, tokensMax, openStepId: openStep?.id, summarizer: this.#ports.summarizer };
  }

  /** Messages as they were appended, by place. */
  messages(options: MessagesOptions = {}): Message[] {
    const seqFrom = wholeNumber("seqFrom", options.seqFrom ?? 0, 0, Number.MAX_SAFE_INTEGER);
    const seqTo = wholeNumber("seqTo", options.seqTo ?? Number.MAX_SAFE_INTEGER, 0, Number.MAX_SAFE_INTEGER);
    const limit = wholeNumber("limit", options.limit ?? PAGE_LIMIT_MAX, 0, PAGE_LIMIT_MAX);
    const { database, messages } = this.#ports.repositories;
    if (limit === 0) return [];
    return database.read(() => messages.range(this.id, seqFrom, seqTo, limit));
  }

  /** Null where it has none. Cheap, where `info` counts every message. */
  get project(): string | null {
    const { database, sessions } = this.#ports.repositories;
    return database.read(() => sessions.byId(this.id))?.project ?? null;
  }

  /** The newest message; undefined while there is none. */
  newest(): Message | undefined {
    const { database, messages } = this.#ports.repositories;
    return database.read(() => {
      const last = messages.lastOf(this.id);
      return last === undefined ? undefined : messages.range(this.id, last.seq, last.seq, 1)[0];
    });
  }

  /** The roots of the session's forest, oldest first: its themes, or with `level: "cluster"` its clusters. */
  roots(options: { level?: SessionLevel } = {}): RootInfo[] {
    const { repositories } = this.#ports;
    const level = oneOf("level", options.level ?? "theme", ["cluster", "theme"]);
    return repositories.database.read(() => rootsOf(repositories, this.id, level));
  }

  /** Counts, times and names. */
  info(): SessionOverview {
    const { database, sessions } = this.#ports.repositories;
    const overview = database.read(() => sessions.overview(this.id));
    if (overview === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: this.id });
    return overview;
  }

  #append(inputs: readonly MessageInput[], seqExpected: number | undefined): AppendResult[] {
    return this.#appendRows(
      inputs.map((input) => prepareMessage(parseMessage(input), this.#ports)),
      seqExpected,
    );
  }

  #appendRows(rows: readonly PreparedMessage[], seqExpected: number | undefined): AppendResult[] {
    const { repositories, embedder, clock } = this.#ports;
    const results = this.#change((state) => append(repositories, state, rows, { embedder, clock, seqExpected }));
    this.#resolver.wake();
    return results;
  }

  /**
   * Run a change of the session, which catches up with other writers inside its own transaction. If it fails, memory may be
   * ahead of the file, so it is loaded again when next needed.
   */
  #change<T>(change: (state: SessionState) => T): T {
    const state = this.#held ?? this.#current();
    this.#ports.active.note(this.id);
    this.#ports.resident.touch(this.id, () => this.#release());
    try {
      return change(state);
    } catch (error) {
      this.#state = undefined;
      throw error;
    }
  }

  /** The session as it is in the file, whoever wrote it. */
  #current(): SessionState {
    const { database } = this.#ports.repositories;
    this.#ports.resident.touch(this.id, () => this.#release());
    database.assertOpen();
    // Most calls end here, without a transaction: nobody has written since the last look.
    const held = this.#held;
    if (held?.dataVersion !== database.dataVersion()) return database.read(() => this.#reload());
    this.#dropForgotten(held);
    return held;
  }

  /** Another process has moved the frontier, or forgotten messages: what is kept of these must not be shown or compared. */
  #dropForgotten({ foreignMoves }: SessionState): void {
    if (foreignMoves === this.#foreignMovesSeen) return;
    this.#foreignMovesSeen = foreignMoves;
    this.#syncKeys = undefined;
    this.#contexts.dropNotes();
  }

  /** Drop what can be loaded again. */
  #release(): void {
    this.#state = undefined;
    this.#contexts.release();
    this.#syncKeys = undefined;
  }

  /** What is in memory, as long as this connection has not changed it behind our back. */
  get #held(): SessionState | undefined {
    return this.#changesSeen === this.#ports.changes.count ? this.#state : undefined;
  }

  #reload(): SessionState {
    const { repositories, changes } = this.#ports;
    if (this.#changesSeen !== changes.count) this.#state = undefined;
    this.#changesSeen = changes.count;
    if (this.#state === undefined) {
      this.#release();
      this.#state = loadSessionState(repositories, this.id);
    } else {
      catchUp(repositories, this.#state);
      this.#dropForgotten(this.#state);
    }
    if (this.#state === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: this.id });
    return this.#state;
  }
}

/** As `MessageRepository.syncKeys` has it of stored messages. */
function syncDigest({ role, parts }: ParsedMessage, digest: Buffer): string {
  if (role !== "tool") return digest.toString("hex");
  return JSON.stringify(parts.map((part) => (part.type === "tool_result" ? part.toolCallId : null)));
}
