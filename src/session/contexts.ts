import { BlockCache, type BlockedMessage } from "../context/digest/blocks.ts";
import { loadEvidence } from "../context/evidence/evidence.ts";
import { expectedTokens, filledView, wholeView } from "../context/layout/fill.ts";
import { stableTokensMax, UNCACHED_TOKENS_MAX } from "../context/layout/fit-window.ts";
import { type PreparedView, prepareView } from "../context/layout/prepare.ts";
import { type Findings, type MemoryPart, renderContext } from "../context/render.ts";
import type { RenderResult } from "../context/result.ts";
import { renderStrategy, type StrategySource, strategyView } from "../context/strategy.ts";
import { normalWindow } from "../context/tool-output/normalize.ts";
import { type ColdView, loadColdView, type RenderView } from "../context/view.ts";
import { StoreError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { Strategy } from "../core/options.ts";
import { parseOptions } from "../core/schema.ts";
import { tokensMaxOf } from "../core/token-budget.ts";
import { compactFrontier, movedAtSeq, windowSteps } from "../forest/window.ts";
import { recallForContext } from "../recall/recall.ts";
import type { RecallQuery } from "../recall/search.ts";
import { messageCountOf, type SessionState } from "../store/index.ts";
import type { Past, SummaryContext } from "../summaries/resolve-run.ts";
import { askedSplit } from "../summaries/span.ts";
import { type ColdNotes, lastingPast, loadColdNotes, type SessionStoryWriter, storyWriter } from "./aids/story.ts";
import { CONTEXT_OPTIONS, type ContextOptions, RENDER_OPTIONS, type RenderOptions } from "./context-options.ts";
import type { SessionPorts } from "./ports.ts";
import { type Pressure, pressureOf } from "./pressure.ts";

/** A render with a query requests one hit for each 25 tokens of the budget, within these bounds. */
const HITS_MIN = 20;
const HITS_MAX = 200;
const HIT_TOKENS = 25;

/** The lasting digest of a session is chosen again each time that so many messages have left the window. */
const LASTING_MESSAGES = 72;

/** Messages with so many characters for each token of a budget are read to fill it. */
const FILL_CHARS_MAX = 6;

interface SessionAccess {
  current(): SessionState;
  /** Like `current`, for callers inside a read transaction. */
  reload(): SessionState;
}

/** The part of a context before the window. It is kept until the frontier moves. */
interface ColdPart {
  view: ColdView;
  memories: Map<string, MemoryPart>;
  /** The messages before the window of another strategy. */
  past: Kept<readonly BlockedMessage[]>;
  lastingPast?: readonly BlockedMessage[];
  story: SessionStoryWriter;
}

/** What was made last. It is right as long as everything that it was made of is the same. */
class Kept<T> {
  #of: readonly unknown[] = [];
  #value: T | undefined;

  known(of: readonly unknown[]): T | undefined {
    return of.every((part, at) => part === this.#of[at]) ? this.#value : undefined;
  }

  get(of: readonly unknown[], make: () => T): T {
    const known = this.known(of);
    if (known !== undefined) return known;
    const value = make();
    [this.#of, this.#value] = [of, value];
    return value;
  }
}

class KeptParts {
  readonly cold = new Kept<ColdPart>();
  readonly beforeWindow = new Kept<readonly Message[]>();
  readonly rendered = new Kept<RenderResult>();
  readonly blocks = new BlockCache();
  notes: ColdNotes | undefined;
  lasting: readonly BlockedMessage[] = [];
}

/** Renders one session, and keeps what the next render can use again. */
export class Contexts {
  readonly #ports: SessionPorts;
  readonly #sessionId: string;
  readonly #access: SessionAccess;
  #kept = new KeptParts();

  constructor(ports: SessionPorts, sessionId: string, access: SessionAccess) {
    this.#ports = ports;
    this.#sessionId = sessionId;
    this.#access = access;
  }

  release(): void {
    this.#kept = new KeptParts();
  }

  asked(options: ContextOptions): SummaryContext & { strategy: Strategy } {
    const state = this.#access.current();
    const tokensMax = tokensMaxOf(options, state.settings.contextTokensMax);
    return { ...this.#summaryContext(state, tokensMax), strategy: options.strategy ?? state.settings.strategy };
  }

  #summaryContext({ settings, openStep }: SessionState, tokensMax: number): SummaryContext {
    const { repositories, summarizer } = this.#ports;
    const openStepId = openStep?.id;
    const past = (): Past => this.#beforeWindow();
    return { repositories, sessionId: this.#sessionId, settings, tokensMax, openStepId, summarizer, past };
  }

  #beforeWindow(): Past {
    const { database } = this.#ports.repositories;
    const { evictedSeq, themes } = this.#access.current();
    return {
      seqEnd: evictedSeq,
      // Themes also hold the messages at the beginning of the window that overlap.
      tokenCountMax: [...themes.values()].reduce((sum, { theme }) => sum + theme.tokenCount, 0),
      isWork: () =>
        database.read(() => {
          this.#current();
          return this.#hasCallsBefore();
        }),
      told: (tokensMax) => database.read(() => this.#told(tokensMax)),
    };
  }

  #told(tokensMax: number): Message[] {
    const texts = this.#current().cold.story.told(tokensMax);
    const messages = this.#ports.repositories.messages.byIds([...texts.keys()]);
    return messages.map((message) => ({ ...message, text: texts.get(message.id)! }));
  }

  /** Returns true if tools are called in the messages before the window, at the frontier that was read last. */
  #hasCallsBefore(): boolean {
    return this.#kept.notes!.blocked.some(({ isCall }) => isCall);
  }

  render(options: RenderOptions = {}): RenderResult {
    const { query, scope, ...wanted } = parseOptions("render", RENDER_OPTIONS(), options);
    const { strategy, tokensMax } = this.asked(wanted);
    if (query === undefined) return copyOf(this.#renderPlain(strategy, tokensMax));
    this.#ports.repositories.database.refuseAtomic("render with a query");
    if (strategy === "union-find") return copyOf(this.#renderFor(query, scope, tokensMax));
    const expected = "union-find with a query";
    throw new StoreError("OPTION_INVALID", { option: "strategy", expected, actual: strategy });
  }

  pressure(options: ContextOptions = {}): Pressure {
    const { strategy, tokensMax } = this.asked(parseOptions("pressure", CONTEXT_OPTIONS(), options));
    return this.#ports.repositories.database.read(() => {
      const { state, cold } = this.#current();
      const view = strategyView(strategy, this.#source(state, cold), tokensMax);
      const compactableTo = this.#compactableTo(strategy, state, tokensMax);
      let rendered: RenderResult | { tokensNeeded: number };
      try {
        rendered = this.#renderPlain(strategy, tokensMax);
      } catch (error) {
        if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
        rendered = error.details;
      }
      return pressureOf(state, view, compactableTo, tokensMax, rendered);
    });
  }

  /** Returns the seq where the window would begin after `compact`; 0 if `compact` would do nothing. */
  #compactableTo(strategy: Strategy, state: SessionState, tokensMax: number): number {
    if (strategy === "full") return 0;
    if (strategy === "union-find") {
      const steps = windowSteps(state.window, state.openStep?.id);
      const dueFrom = this.#ports.repositories.pendingVectors.firstDue(this.#sessionId, 0);
      return compactFrontier(steps, state, state.settings, dueFrom)?.evictedSeq ?? 0;
    }
    const split = askedSplit({ ...this.#summaryContext(state, tokensMax), strategy });
    return typeof split === "string" ? 0 : split.seqLast + 1;
  }

  /** Renders without a query. The result is kept until a message, a setting or a summary changes. */
  #renderPlain(strategy: Strategy, tokensMax: number): RenderResult {
    const { repositories, tokenCounter } = this.#ports;
    const { database, summaries } = repositories;
    const madeOf = ({ themes, pinned, window, settings }: SessionState): unknown[] => {
      const isSpan = strategy === "flat" || strategy === "sandwich";
      const spanId = isSpan ? database.guard(() => summaries.shownSpan(this.#sessionId, strategy)?.id) : 0;
      return [strategy, tokensMax, spanId, themes, pinned, window, settings];
    };
    // Only a new result needs a snapshot: it looks up steps that another process may move or forget meanwhile.
    const made = madeOf(this.#access.current());
    const known = this.#kept.rendered.known(made);
    if (known !== undefined) return known;
    return database.read(() => {
      const { state, cold } = this.#current();
      return this.#kept.rendered.get(madeOf(state), () => {
        const source = this.#source(state, cold);
        if (strategy !== "union-find")
          return renderStrategy(strategy, source, { tokensMax, tokenCounter, story: cold.story });
        const view = prepareView(this.#filledView(state, cold, source, tokensMax), tokenCounter);
        return this.#renderThemes(view, cold, tokensMax);
      });
    });
  }

  /** Renders with a query. The result is not kept, because a new message in another session may change the hits. */
  #renderFor(query: RecallQuery, scope: "session" | "project", tokensMax: number): RenderResult {
    const { repositories, tokenCounter } = this.#ports;
    repositories.database.assertOpen();
    return repositories.database.read(() => {
      const row = repositories.sessions.existing(this.#sessionId);
      if (scope === "project" && row.project === null) {
        const expected = `"session", because this session has no project; store.session(id, { project }) sets it`;
        throw new StoreError("OPTION_INVALID", { option: "scope", expected, actual: scope });
      }
      const { state, cold } = this.#current();
      const view = prepareView(this.#source(state, cold).themesView(), tokenCounter);
      const searched = scope === "project" ? { project: row.project! } : { sessionIds: [this.#sessionId] };
      const limit = Math.min(HITS_MAX, Math.max(HITS_MIN, Math.ceil(tokensMax / HIT_TOKENS)));
      const stable = stableTokensMax(view, tokensMax, tokenCounter);
      // A question does not answer itself, and the newest step is always shown. So it is not evidence.
      const newest = state.window.filter(({ stepId }) => stepId === state.window.at(-1)!.stepId);
      const shownIds = new Set(newest.map(({ id }) => id));
      const room = { shownIds, tokensMax: tokensMax - Math.min(stable, tokensMax / 2) };
      const hits = recallForContext(this.#ports, query, searched, limit, room);
      if (scope === "session") {
        const plain = this.#renderThemes(view, cold, tokensMax);
        if (plain.omitted.length === 0 && plain.sources.every(({ how }) => how === "verbatim")) return plain;
      }
      const steps = loadEvidence(repositories, hits, view);
      return this.#renderThemes(view, cold, stable, { steps, tokensMax });
    });
  }

  #renderThemes(view: PreparedView, cold: ColdPart, tokensMax: number, findings?: Findings): RenderResult {
    const { repositories, tokenCounter } = this.#ports;
    const { story, memories } = cold;
    return repositories.database.guard(() =>
      renderContext(view, { tokensMax, tokenCounter, story }, findings, memories),
    );
  }

  /**
   * Returns the view with messages before the frontier that fill the budget. In work with tools, they are long, so that the start of the
   * window would move too often, and the digest holds more of what is used again. So the memory message gets the room that the window
   * will probably not need.
   */
  #filledView(state: SessionState, cold: ColdPart, source: StrategySource, tokensMax: number): RenderView {
    const hasCalls = ({ parts }: Message): boolean => parts.some(({ type }) => type === "tool_call");
    if (this.#hasCallsBefore() || state.window.some(hasCalls)) {
      const view = source.themesView();
      const { tokenCounter } = this.#ports;
      const unpinned = () =>
        normalWindow(this.#unpinnedFrom(state, 0), state.graduatedSeq, state.settings, tokenCounter);
      const whole = wholeView(view, tokensMax, unpinned, (seq) => source.past(0, seq), tokenCounter);
      if (whole !== undefined) return whole;
      return {
        ...view,
        expectedTokens: expectedTokens(view, state.settings),
        ...(tokensMax > UNCACHED_TOKENS_MAX && { lastingPast: this.#lastingPast(state, cold) }),
      };
    }
    const before = (tokens: number): readonly Message[] => {
      let chars = 0;
      const { blocked } = this.#kept.notes!;
      const last = blocked.findLastIndex(({ text }) => {
        chars += text.length;
        return chars > FILL_CHARS_MAX * tokens;
      });
      const first = blocked.slice(Math.max(0, last)).find(({ id, stepId }) => id === stepId);
      if (first === undefined) return [];
      const { evictedSeq } = state;
      const unpinned = this.#unpinnedFrom(state, first.seq);
      return unpinned.filter(({ seq, stepId }) => seq < evictedSeq && stepId >= first.id);
    };
    return filledView(source.themesView(), tokensMax, before, (seq) => source.past(0, seq));
  }

  #source(state: SessionState, cold: ColdPart): StrategySource {
    const { repositories, tokenCounter } = this.#ports;
    const { window, graduatedSeq, settings } = state;
    const blocksOf = (message: Message) => this.#kept.blocks.of(message);
    return {
      blocksOf,
      past: (seqFrom, seqEnd) => this.#past(state, cold, seqFrom, seqEnd),
      repositories,
      state,
      unpinnedFrom: (seq) => this.#unpinnedFrom(state, seq),
      themesView: () => ({
        ...cold.view,
        ...normalWindow(window, graduatedSeq, settings, tokenCounter),
        sessionId: this.#sessionId,
        messageCount: messageCountOf(state),
        isSpan: false,
        pinned: state.pinned,
        evictedSeq: state.evictedSeq,
        windowTokensMax: settings.hotTokensMax,
        anchorSeq: movedAtSeq(windowSteps(window, state.openStep?.id), graduatedSeq, settings),
        past: this.#kept.notes!.blocked,
        blocksOf,
        openStepId: state.openStep?.id,
      }),
    };
  }

  /** Returns the messages for the lasting digest. The list is kept, because the digest is kept as long. */
  #lastingPast({ evictedSeq }: SessionState, cold: ColdPart): readonly BlockedMessage[] {
    if (cold.lastingPast === undefined) {
      const past = lastingPast(this.#kept.notes!.blocked, evictedSeq - (evictedSeq % LASTING_MESSAGES));
      const known = this.#kept.lasting;
      const isSame = past.length === known.length && past.every((message, at) => message === known[at]);
      if (!isSame) this.#kept.lasting = past;
      cold.lastingPast = this.#kept.lasting;
    }
    return cold.lastingPast;
  }

  /** Returns the messages of a range in blocks. The list is kept, because a digest prepares its messages. */
  #past({ window }: SessionState, cold: ColdPart, seqFrom: number, seqEnd: number): readonly BlockedMessage[] {
    return cold.past.get([seqFrom, seqEnd], () => {
      const inWindow = window.filter(({ seq }) => seq < seqEnd).map((message) => this.#kept.blocks.of(message));
      return [...this.#kept.notes!.blocked, ...inWindow].filter(({ seq }) => seq >= seqFrom && seq < seqEnd);
    });
  }

  /** Returns the unpinned messages from a seq on. Messages before the window are read once for each move of the frontier. */
  #unpinnedFrom({ window, evictedSeq, themes }: SessionState, seq: number): Message[] {
    if (seq >= evictedSeq) return window.filter((message) => message.seq >= seq);
    const before = this.#kept.beforeWindow.get([seq, themes], () => {
      const { messages } = this.#ports.repositories;
      return messages.range(this.#sessionId, seq, evictedSeq - 1).filter(({ pinned }) => !pinned);
    });
    return [...before, ...window];
  }

  /** Returns the session and its cold part, both from one snapshot. */
  #current(): { state: SessionState; cold: ColdPart } {
    const madeOf = ({ themes, pinned, settings }: SessionState): unknown[] => [themes, pinned.length, settings];
    const known = this.#access.current();
    const cold = this.#kept.cold.known(madeOf(known));
    if (cold !== undefined) return { state: known, cold };
    return this.#ports.repositories.database.read(() => {
      const state = this.#access.reload();
      return { state, cold: this.#kept.cold.get(madeOf(state), () => this.#coldPart(state)) };
    });
  }

  #coldPart(state: SessionState): ColdPart {
    const { repositories, tokenCounter } = this.#ports;
    const { blocks, notes: before } = this.#kept;
    const view = loadColdView(repositories, state);
    const notes = loadColdNotes(repositories, this.#sessionId, state.evictedSeq, before, blocks);
    this.#kept.notes = notes;
    const story = storyWriter(notes, tokenCounter, blocks);
    return { view, memories: new Map(), past: new Kept(), story };
  }
}

/** Copies a result, so that a caller cannot change the kept one. This is most of the time of a render that changes nothing. */
function copyOf(result: RenderResult): RenderResult {
  const { messages, composed, sources, omitted, recalled, story } = result;
  return {
    ...result,
    messages: messages.map(deepCopyOf),
    composed: [...composed],
    sources: sources.map((source) => ({ ...source })),
    omitted: omitted.map((omission) => ({ ...omission })),
    recalled: recalled.map((found) => ({ ...found })),
    story: story.map((source) => ({ ...source })),
  };
}

function deepCopyOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(deepCopyOf) as T;
  const copy = { ...value };
  for (const key in copy) if (typeof copy[key] === "object") copy[key] = deepCopyOf(copy[key]);
  return copy;
}
