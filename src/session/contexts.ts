import { loadRecalled } from "../context/load-recalled.ts";
import { type ColdView, loadColdView } from "../context/load-view.ts";
import { type Memory, renderMemory } from "../context/memory.ts";
import { normalWindow } from "../context/normalize.ts";
import type { Findings } from "../context/render.ts";
import type { ContinuityTeller, RenderResult } from "../context/result.ts";
import { stableTokensMax } from "../context/split-budget.ts";
import { RENDER_STRATEGIES, type StrategySource, strategyView } from "../context/strategy.ts";
import type { RenderView } from "../context/view.ts";
import { StoreError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { oneOf, type SessionSettings, STRATEGIES, type Strategy } from "../core/options.ts";
import { type TokenBudget, tokensMaxOf } from "../core/token-budget.ts";
import type { TokenCounter } from "../core/tokens.ts";
import { compactFrontier, windowSteps } from "../forest/window.ts";
import { recallForContext } from "../recall/recall-for-context.ts";
import type { RecallQuery } from "../recall/search.ts";
import { messageCountOf, type SessionState } from "../store/session-state.ts";
import { askedSplit } from "../summaries/span.ts";
import { type ColdNotes, continuityTeller, loadColdNotes } from "./continuity.ts";
import type { SessionPorts } from "./ports.ts";
import { type Pressure, pressureOf } from "./pressure.ts";

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

export const CONTEXT_OPTIONS: readonly string[] = [
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

/** Hits that a render asks for: as many as its budget may have room for, from so few that neighbors matter to so many that they are found in time. */
const HITS_MIN = 20;
const HITS_MAX = 200;
const HIT_TOKENS = 25;

/** Memory blocks kept between two moves of the frontier. A host renders in one budget or two. */
const BUDGETS_KEPT = 8;

/** The session in memory, as the file has it. */
interface SessionAccess {
  current(): SessionState;
  /** The same inside a transaction for reading. */
  reload(): SessionState;
}

/** Contexts of one session, and what is kept of them between two calls. */
export class Contexts {
  readonly #ports: SessionPorts;
  readonly #sessionId: string;
  readonly #access: SessionAccess;
  #coldPart: ColdPart | undefined;
  /** Messages before the window, from a place on, as long as the frontier stays. */
  #beforeWindow: { key: string; messages: Message[] } | undefined;
  #notes: ColdNotes | undefined;
  #rendered: { key: string; settings: SessionSettings; result: RenderResult } | undefined;

  constructor(ports: SessionPorts, sessionId: string, access: SessionAccess) {
    this.#ports = ports;
    this.#sessionId = sessionId;
    this.#access = access;
  }

  /** Drop what can be loaded again. */
  release(): void {
    this.#coldPart = undefined;
    this.#beforeWindow = undefined;
    this.#notes = undefined;
    this.#rendered = undefined;
  }

  /** Messages have been forgotten: they are told no more. */
  dropNotes(): void {
    this.#notes = undefined;
  }

  /** What a call leaves out the session's settings say. */
  asked(options: ContextOptions): { strategy: Strategy; tokensMax: number } {
    const { settings } = this.#access.current();
    return {
      strategy: oneOf("strategy", options.strategy === undefined ? settings.strategy : options.strategy, STRATEGIES),
      tokensMax: tokensMaxOf(options, settings.contextTokensMax),
    };
  }

  /** @see Session.render */
  render(options: RenderOptions = {}): RenderResult {
    for (const name of Object.keys(options)) oneOf("an option of render", name, RENDER_OPTIONS);
    const { strategy, tokensMax } = this.asked(options);
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

  /** @see Session.pressure */
  pressure(options: ContextOptions = {}): Pressure {
    for (const name of Object.keys(options)) oneOf("an option of pressure", name, CONTEXT_OPTIONS);
    const { strategy, tokensMax } = this.asked(options);
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
      const steps = windowSteps(state.window, state.openStep?.id);
      const dueFrom = this.#ports.repositories.pendingVectors.firstDue(this.#sessionId)?.seq;
      return compactFrontier(steps, state, state.settings, dueFrom)?.evictedSeq ?? 0;
    }
    const { repositories, summarizer } = this.#ports;
    const options = { settings: state.settings, tokensMax, openStepId: state.openStep?.id, summarizer };
    const split = askedSplit(repositories, this.#sessionId, strategy, options);
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
      const shownId =
        strategy === "flat" || strategy === "sandwich" ? repositories.spans.shown(this.#sessionId, strategy)?.id : 0;
      const key = `${strategy} ${shownId} ${tokensMax} ${state.frontierVersion} ${state.nextSeq}`;
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
        const view = viewOf(this.#sessionId, state, cold, options.tokenCounter);
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
      const before = messages.range(this.#sessionId, seq, evictedSeq - 1).filter(({ pinned }) => !pinned);
      this.#beforeWindow = { key, messages: before };
    }
    return [...this.#beforeWindow.messages, ...window];
  }

  /** Nothing of it is kept: what is found may change with any message of any session. */
  #renderFor(query: RecallQuery, scope: "session" | "project", tokensMax: number): RenderResult {
    const { repositories, tokenCounter } = this.#ports;
    repositories.database.assertOpen();
    return repositories.database.read(() => {
      const row = repositories.sessions.byId(this.#sessionId);
      if (row === undefined) throw new StoreError("SESSION_NOT_FOUND", { sessionId: this.#sessionId });
      if (scope === "project" && row.project === null) {
        const expected = `"session", for this session has no project; store.session(id, { project }) gives it one`;
        throw new StoreError("OPTION_INVALID", { option: "scope", expected, actual: scope });
      }
      const { state, cold } = this.#view();
      const view = viewOf(this.#sessionId, state, cold, tokenCounter);
      const searched = scope === "project" ? { project: row.project! } : { sessionIds: [this.#sessionId] };
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

  /** The session and its cold part, of one snapshot; the cold part is read once for each move of the frontier. */
  #view(): { state: SessionState; cold: ColdPart } {
    const isFresh = (state: SessionState, cold: ColdPart | undefined): cold is ColdPart =>
      cold?.frontierVersion === state.frontierVersion &&
      cold.pinnedCount === state.pinned.length &&
      cold.settings === state.settings;
    const known = this.#access.current();
    if (isFresh(known, this.#coldPart)) return { state: known, cold: this.#coldPart };
    const { repositories } = this.#ports;
    return repositories.database.read(() => {
      const state = this.#access.reload();
      if (!isFresh(state, this.#coldPart)) {
        const { frontierVersion, pinned, settings } = state;
        const view = loadColdView(repositories, state);
        this.#notes = loadColdNotes(repositories, this.#sessionId, state.evictedSeq, this.#notes);
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
    toolPreviewCharsMax: settings.toolPreviewCharsMax,
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
