import type { NearestClusters } from "../ann/nearest-clusters.ts";
import { loadRecalled } from "../context/load-recalled.ts";
import { type ColdView, loadColdView } from "../context/load-view.ts";
import { type Memory, renderMemory } from "../context/memory.ts";
import { normalWindow } from "../context/normalize.ts";
import type { Findings } from "../context/render.ts";
import type { ContinuityTeller, RenderResult } from "../context/result.ts";
import { stableTokensMax } from "../context/split-budget.ts";
import { RENDER_STRATEGIES, type StrategySource, strategyView } from "../context/strategy.ts";
import type { RenderView } from "../context/view.ts";
import type { Clock } from "../core/clock.ts";
import { digestOf } from "../core/digest.ts";
import { StoreError } from "../core/errors.ts";
import type { SessionLevel } from "../core/handle.ts";
import { BATCH_MESSAGES_MAX, PAGE_LIMIT_MAX } from "../core/limits.ts";
import { type Message, type MessageInput, type ParsedMessage, parseMessage } from "../core/message.ts";
import { oneOf, type SessionSettings, STRATEGIES, type Strategy, wholeNumber } from "../core/options.ts";
import { type TokenBudget, tokensMaxOf } from "../core/token-budget.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { compactFrontier, windowSteps } from "../forest/window.ts";
import { type AppendResult, append, catchUp, compact } from "../ingest/append.ts";
import { prepareMessage } from "../ingest/prepare.ts";
import { newMessages, type SyncKey } from "../ingest/sync.ts";
import type { Embedder } from "../models/embedder.ts";
import type { Summarizer } from "../models/summarizer.ts";
import { type RecallQuery, recallForContext } from "../recall/recall.ts";
import type { Repositories } from "../store/repositories.ts";
import { loadSessionState, messageCountOf, type SessionState } from "../store/session-state.ts";
import type { SessionOverview } from "../store/sessions.ts";
import { RESOLVE_CONCURRENCY, type ResolveResult, resolveDirty } from "../summaries/resolve.ts";
import { askedSplit, type CompactResult, compactSpan, type SplitOptions } from "../summaries/span.ts";
import { untilAborted } from "../summaries/summarize.ts";
import type { ActiveSessions } from "./active.ts";
import { type ColdNotes, continuityTeller, loadColdNotes } from "./continuity.ts";
import { type Pressure, pressureOf } from "./pressure.ts";
import type { ResidentSessions } from "./resident.ts";
import { type RootInfo, rootsOf } from "./roots.ts";
import type { Upkeep } from "./upkeep.ts";

/** What a session needs of the store that opened it. */
export interface SessionPorts {
  repositories: Repositories;
  embedder: Embedder;
  summarizer: Summarizer;
  tokenCounter: TokenCounter;
  clock: Clock;
  /** Aborted when the store closes. */
  closing: AbortSignal;
  /** Counts what this very connection changed behind its sessions' backs: settings, a rebuild. */
  changes: { count: number };
  resident: ResidentSessions;
  active: ActiveSessions;
  nearest: NearestClusters;
  upkeep: Upkeep;
}

/** Which context: how long it may be (the session's `contextTokensMax` if left out), and how the session becomes one. */
export interface ContextOptions extends TokenBudget {
  /** The session's `strategy` if left out. */
  strategy?: Strategy;
}

export interface RenderOptions extends ContextOptions {
  /** What the next step is about: the context then spends most of a small budget on messages that bear on it. */
  query?: RecallQuery;
  /** Where these are looked for: in this session, or in all of its project. Without a query it changes nothing. */
  scope?: "session" | "project";
}

export interface MessagesOptions {
  /** First place, inclusive. */
  seqFrom?: number;
  /** Last place, inclusive; the session's last if left out. */
  seqTo?: number;
  /** Most messages, from `seqFrom` on: at most 10,000, and so many unless given. For more, go on from the last one's seq. */
  limit?: number;
}

export interface ResolveDirtyOptions extends ContextOptions {
  signal?: AbortSignal;
  /** Calls of the summarizer under way at once. */
  concurrency?: number;
}

const CONTEXT_OPTIONS: readonly string[] = [
  "tokensMax",
  "contextWindow",
  "reserveTokens",
  "toolTokens",
  "strategy",
] satisfies (keyof ContextOptions)[];
const RENDER_OPTIONS: readonly string[] = [
  ...CONTEXT_OPTIONS,
  ...(["query", "scope"] satisfies (keyof RenderOptions)[]),
];
const RESOLVE_OPTIONS: readonly string[] = [
  ...CONTEXT_OPTIONS,
  ...(["signal", "concurrency"] satisfies (keyof ResolveDirtyOptions)[]),
];

/** Hits that a render asks for: as many as its budget may have room for, from so few that neighbors matter to so many that they are found in time. */
const HITS_MIN = 20;
const HITS_MAX = 200;
const HIT_TOKENS = 25;

/** Memory blocks kept between two moves of the frontier. A host renders in one budget or two. */
const BUDGETS_KEPT = 8;

/** Comparisons of one `sync` with a session that others are writing to. */
const SYNC_ATTEMPTS_MAX = 10;

/**
 * One agent's conversation: append to it, render it for the next model call, look into its forest.
 *
 * Every method but `resolveDirty` is synchronous and calls no model and no network. Any number of processes may hold
 * the same session: each sees what the others have written at its next call.
 */
export class Session {
  readonly id: string;
  readonly #ports: SessionPorts;
  #state: SessionState | undefined;
  #changesSeen = 0;
  #foreignMovesSeen = 0;
  /** What `sync` compares with, from its first use on. */
  #syncKeys: { keys: SyncKey[]; nextSeq: number } | undefined;
  #lastHistory: SyncKey[] = [];
  #coldPart: ColdPart | undefined;
  /** Messages before the window, from a place on, as long as the frontier stays. */
  #beforeWindow: { key: string; messages: Message[] } | undefined;
  #notes: ColdNotes | undefined;
  /** Ends, and never rejects, with the last `resolveDirty` that was begun. */
  #resolving: Promise<void> | undefined;
  #rendered: { key: string; settings: SessionSettings; result: RenderResult } | undefined;

  constructor(ports: SessionPorts, id: string) {
    this.#ports = ports;
    this.id = id;
  }

  /**
   * Append one message. It is on disk, with its embedding and its parent pointer, when this returns.
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
    for (const name of Object.keys(options)) oneOf("an option of render", name, RENDER_OPTIONS);
    const { strategy, tokensMax } = this.#contextOf(options);
    const scope = oneOf("scope", options.scope ?? "session", ["session", "project"]);
    if (strategy !== "union-find") {
      if (options.query === undefined) return this.#renderBy(strategy, tokensMax);
      throw new StoreError("OPTION_INVALID", {
        option: "strategy",
        expected: "union-find with a query",
        actual: strategy,
      });
    }
    if (options.query !== undefined) return this.#renderFor(options.query, scope, tokensMax);
    const { state, cold } = this.#view();
    const key = `${tokensMax} ${state.frontierVersion} ${state.nextSeq}`;
    if (this.#rendered?.key === key && this.#rendered.settings === state.settings) return copyOf(this.#rendered.result);
    const result = this.#renderWithin(state, cold, tokensMax);
    this.#rendered = { key, settings: state.settings, result };
    return copyOf(result);
  }

  /** What a call leaves out the session's settings say. */
  #contextOf(options: ContextOptions): { strategy: Strategy; tokensMax: number } {
    const { settings } = this.#current();
    return {
      strategy: oneOf("strategy", options.strategy === undefined ? settings.strategy : options.strategy, STRATEGIES),
      tokensMax: tokensMaxOf(options, settings.contextTokensMax),
    };
  }

  /**
   * How full the context for the next model call is, and what compacting would win: to be asked before the call. Of the
   * context without a query; one with evidence is filled up to its budget.
   *
   * @throws {StoreError} `OPTION_INVALID`. A budget that is too small it only reports.
   */
  pressure(options: ContextOptions = {}): Pressure {
    for (const name of Object.keys(options)) oneOf("an option of pressure", name, CONTEXT_OPTIONS);
    const { strategy, tokensMax } = this.#contextOf(options);
    const { repositories, tokenCounter } = this.#ports;
    return repositories.database.read(() => {
      const { state, cold } = this.#view();
      const source = this.#source(state, cold, { tokensMax, tokenCounter });
      const view = strategyView(strategy, source, tokensMax);
      const compactableTo = this.#compactableTo(strategy, state, tokensMax);
      try {
        return pressureOf(state, view, compactableTo, tokensMax, this.render({ strategy, tokensMax }));
      } catch (error) {
        if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
        return pressureOf(state, view, compactableTo, tokensMax, error.details);
      }
    });
  }

  /** Place of the first message that would still be in the window after `compact`; 0 where it would do nothing. */
  #compactableTo(strategy: Strategy, state: SessionState, tokensMax: number): number {
    if (strategy === "full") return 0;
    if (strategy === "union-find") {
      return compactFrontier(windowSteps(state.window, state.openStep?.id), state, state.settings)?.evictedSeq ?? 0;
    }
    const options = { settings: state.settings, tokensMax, openStepId: state.openStep?.id };
    const split = askedSplit(this.#ports.repositories, this.id, strategy, options);
    return typeof split === "string" ? 0 : split.seqLast + 1;
  }

  #renderWithin(state: SessionState, cold: ColdPart, tokensMax: number, findings?: Findings): RenderResult {
    const { repositories, tokenCounter } = this.#ports;
    const options = { tokensMax, tokenCounter, continuity: cold.continuity };
    const source = this.#source(state, cold, options);
    return repositories.database.guard(() => RENDER_STRATEGIES["union-find"](source, options, findings));
  }

  /** Kept until a message, a setting or a summary has come. */
  #renderBy(strategy: Strategy, tokensMax: number): RenderResult {
    const { repositories, tokenCounter } = this.#ports;
    return repositories.database.read(() => {
      const { state, cold } = this.#view();
      const doneId =
        strategy === "flat" || strategy === "sandwich" ? repositories.spans.newest(this.id, strategy, "done")?.id : 0;
      const key = `${strategy} ${doneId} ${tokensMax} ${state.frontierVersion} ${state.nextSeq}`;
      if (this.#rendered?.key !== key || this.#rendered.settings !== state.settings) {
        const options = { tokensMax, tokenCounter };
        const result = RENDER_STRATEGIES[strategy](this.#source(state, cold, options), options);
        this.#rendered = { key, settings: state.settings, result };
      }
      return copyOf(this.#rendered.result);
    });
  }

  #source(
    state: SessionState,
    cold: ColdPart,
    options: { tokensMax: number; tokenCounter: TokenCounter },
  ): StrategySource {
    return {
      repositories: this.#ports.repositories,
      state,
      unpinnedFrom: (seq) => this.#unpinnedFrom(state, seq),
      forest: () => {
        const view = viewOf(this.id, state, cold, options.tokenCounter);
        let memory = cold.memories.get(options.tokensMax);
        if (memory === undefined) {
          memory = renderMemory(view, { ...options, continuity: cold.continuity });
          if (cold.memories.size === BUDGETS_KEPT) cold.memories.clear();
          cold.memories.set(options.tokensMax, memory);
        }
        return { view, memory };
      },
    };
  }

  /** The window is at hand; what stands before it is read once for each move of the frontier. */
  #unpinnedFrom({ window, evictedSeq, frontierVersion }: SessionState, seq: number): Message[] {
    if (seq >= evictedSeq) return window.filter((message) => message.seq >= seq);
    const key = `${seq} ${frontierVersion}`;
    if (this.#beforeWindow?.key !== key) {
      const { messages } = this.#ports.repositories;
      const before = messages.range(this.id, seq, evictedSeq - 1).filter(({ pinned }) => !pinned);
      this.#beforeWindow = { key, messages: before };
    }
    return [...this.#beforeWindow.messages, ...window];
  }

  /** Nothing of it is kept: what is found may change with any message of any session. */
  #renderFor(query: RecallQuery, scope: "session" | "project", tokensMax: number): RenderResult {
    const { repositories, tokenCounter } = this.#ports;
    repositories.database.assertOpen();
    return repositories.database.read(() => {
      const row = repositories.sessions.byId(this.id);
      if (row === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: this.id });
      if (scope === "project" && row.project === null) {
        const expected = `"session", for this session has no project; store.session(id, { project }) gives it one`;
        throw new StoreError("OPTION_INVALID", { option: "scope", expected, actual: scope });
      }
      const { state, cold } = this.#view();
      const view = viewOf(this.id, state, cold, tokenCounter);
      const searched = scope === "project" ? { project: row.project! } : { sessionIds: [this.id] };
      const limit = Math.min(HITS_MAX, Math.max(HITS_MIN, Math.ceil(tokensMax / HIT_TOKENS)));
      const stable = stableTokensMax(view, { tokensMax, tokenCounter });
      const shownIds = new Set(newestStep(state.window).map(({ id }) => id));
      const room = { shownIds, tokensMax: tokensMax - Math.min(stable, tokensMax / 2) };
      const hits = recallForContext(this.#ports, query, searched, limit, room);
      if (scope === "session") {
        const plain = this.#renderWithin(state, cold, tokensMax);
        if (plain.omitted.length === 0 && plain.sources.every(({ how }) => how === "verbatim")) return copyOf(plain);
      }
      const steps = loadRecalled(repositories, hits, view);
      return copyOf(this.#renderWithin(state, cold, stable, { steps, tokensMax }));
    });
  }

  /**
   * Summarize what has no summary yet, in the background of the caller's own model call. A context of themes shows the result
   * from the next move of the frontier on. `flat` and `sandwich` make their one summary when a context of `tokensMax` is
   * fuller than their trigger, or `compact` has asked, and show it at once. Then the store does its upkeep, see
   * `store.upkeep`; what fails there does not fail here.
   *
   * @returns how many themes were resolved, failed, stale (grew meanwhile) and parked (cannot be made shorter).
   * @throws the signal's reason when aborted, `STORE_CLOSED` when the store closes, `STORE_BUSY` and `STORE_CORRUPT` where
   *   the result cannot be written. A failing model never rejects.
   */
  async resolveDirty(options: ResolveDirtyOptions = {}): Promise<ResolveResult> {
    const { repositories, summarizer, tokenCounter, clock, closing, upkeep } = this.#ports;
    if (repositories.database.readonly) {
      throw new StoreError("STORE_READONLY", { path: repositories.database.path, operation: "resolveDirty" });
    }
    for (const name of Object.keys(options)) oneOf("an option of resolveDirty", name, RESOLVE_OPTIONS);
    const { strategy, tokensMax } = this.#contextOf(options);
    const concurrency = wholeNumber("concurrency", options.concurrency ?? RESOLVE_CONCURRENCY, 1, 64);
    const signal = options.signal === undefined ? closing : AbortSignal.any([options.signal, closing]);
    signal.throwIfAborted();
    // One at a time: a second one would summarize, and pay for, the same themes again. It finds what the first has left.
    const before = this.#resolving;
    const resolving = (async () => {
      if (before !== undefined) await untilAborted(before, signal);
      const split = { ...this.#splitOptions(tokensMax), clock };
      return resolveDirty(repositories, this.id, { ...split, summarizer, tokenCounter, strategy, concurrency, signal });
    })();
    this.#resolving = Promise.allSettled([before, resolving]).then(() => {});
    const result = await resolving;
    await upkeep.runBehind(signal);
    return result;
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
    const { strategy, tokensMax } = this.#contextOf(options);
    switch (strategy) {
      case "union-find": {
        const isMoved = this.#change((state) => compact(repositories, state, embedder.similarityMin));
        return isMoved ? { compacted: true } : { compacted: false, reason: "nothing_to_compress" };
      }
      case "full":
        return { compacted: false, reason: "never_compacted" };
      default: {
        const split = { ...this.#splitOptions(tokensMax), createdAtMs: clock() };
        return compactSpan(repositories, this.id, strategy, split);
      }
    }
  }

  #splitOptions(tokensMax: number): SplitOptions {
    const { settings, openStep } = this.#current();
    return { settings, tokensMax, openStepId: openStep?.id };
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
    const { repositories, embedder } = this.#ports;
    const rows = inputs.map((input) => prepareMessage(parseMessage(input), this.#ports));
    return this.#change((state) =>
      append(repositories, state, rows, { similarityMin: embedder.similarityMin, seqExpected }),
    );
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
    this.#notes = undefined;
  }

  /** Drop what can be loaded again. */
  #release(): void {
    this.#state = undefined;
    this.#coldPart = undefined;
    this.#beforeWindow = undefined;
    this.#notes = undefined;
    this.#rendered = undefined;
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

  /** The session and its cold part, of one snapshot; the cold part is read once for each move of the frontier. */
  #view(): { state: SessionState; cold: ColdPart } {
    const isFresh = (state: SessionState, cold: ColdPart | undefined): cold is ColdPart =>
      cold?.frontierVersion === state.frontierVersion &&
      cold.pinnedCount === state.pinned.length &&
      cold.settings === state.settings;
    const known = this.#current();
    if (isFresh(known, this.#coldPart)) return { state: known, cold: this.#coldPart };
    const { repositories } = this.#ports;
    return repositories.database.read(() => {
      const state = this.#reload();
      if (!isFresh(state, this.#coldPart)) {
        const { frontierVersion, pinned, settings } = state;
        const view = loadColdView(repositories, state);
        this.#notes = loadColdNotes(repositories, this.id, state.evictedSeq, this.#notes);
        this.#coldPart = {
          frontierVersion,
          pinnedCount: pinned.length,
          settings,
          view,
          memories: new Map(),
          continuity: continuityTeller(this.#notes, this.#ports.tokenCounter),
        };
      }
      return { state, cold: this.#coldPart! };
    });
  }
}

function viewOf(sessionId: string, state: SessionState, cold: ColdPart, tokenCounter: TokenCounter): RenderView {
  const { window, graduatedSeq, settings } = state;
  return {
    ...cold.view,
    ...normalWindow(window, graduatedSeq, settings, tokenCounter),
    toolResponsePreviewGraphemes: settings.toolResponsePreviewGraphemes,
    sessionId,
    messageCount: messageCountOf(state),
    pinned: state.pinned,
    evictedSeq: state.evictedSeq,
    openStepId: state.openStep?.id,
  };
}

/** Whatever the budget, it stands in a context as it is: a question that was appended does not answer itself. */
function newestStep(window: readonly Message[]): Message[] {
  return window.filter(({ stepId }) => stepId === window.at(-1)!.stepId);
}

interface ColdPart {
  frontierVersion: number;
  pinnedCount: number;
  settings: SessionSettings;
  view: ColdView;
  /** By `tokensMax`. */
  memories: Map<number, Memory>;
  continuity: ContinuityTeller;
}

/** A result of the caller's own, all the way down: what it does to it must not change what is rendered next. */
function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyOf(item)])) as T;
}

/** As `MessageRepository.syncKeys` has it of stored messages. */
function syncDigest({ role, parts }: ParsedMessage, digest: Buffer): string {
  if (role !== "tool") return digest.toString("hex");
  return JSON.stringify(parts.map((part) => (part.type === "tool_result" ? part.toolCallId : null)));
}
