import { StoreError } from "../core/errors.ts";
import { formatHandle, parseHandle } from "../core/handle.ts";
import type { Message } from "../core/message.ts";
import { type SpanStrategy, type Strategy, spanRuleOf } from "../core/options.ts";
import { countWithin, windowSteps } from "../forest/window.ts";
import { messageCountOf, type Repositories, type SessionState } from "../store/index.ts";
import { tokenSum } from "./costs.ts";
import type { BlockedMessage } from "./digest/blocks.ts";
import { prepareView } from "./layout/prepare.ts";
import { renderStep } from "./layout/steps.ts";
import { renderContext } from "./render.ts";
import type { RenderOptions, RenderResult } from "./result.ts";
import { type RenderView, statementsOf, type ThemeView } from "./view.ts";

export interface StrategySource {
  repositories: Repositories;
  state: SessionState;
  /** Returns the messages from a seq on that are not pinned, in order. */
  unpinnedFrom(seq: number): readonly Message[];
  themesView(): RenderView;
  /** Returns the newest messages in a range of seqs that are not pinned, in order. The same range gives the same list. */
  past(seqFrom: number, seqEnd: number): readonly BlockedMessage[];
  blocksOf: RenderView["blocksOf"];
}

/**
 * Returns the part of a session that a strategy renders.
 *
 * - `union-find`: a line for each theme and the summaries that a model wrote, the newest messages verbatim.
 * - `flat`: one running summary of everything before the newest messages.
 * - `sandwich`: the first messages verbatim, one summary of the middle, the newest messages verbatim, in chronological
 *   order (the middle-out compression of llxprt-code).
 * - `full`: every message.
 */
export function strategyView(strategy: Strategy, source: StrategySource, tokensMax: number): RenderView {
  switch (strategy) {
    case "union-find":
      return source.themesView();
    case "flat":
    case "sandwich":
      return spanView(source, strategy, headTokensMax(source, strategy, tokensMax));
    case "full":
      return viewOf(source, source.state.pinned, source.unpinnedFrom(0), undefined, 0);
  }
}

/**
 * Renders a session by a strategy. All strategies keep the promises of `renderContext`, with one exception: a large newest step
 * also breaks the prefix of a `sandwich`, because fewer first messages fit. A render never waits for a summary.
 *
 * @throws {StoreError} `BUDGET_TOO_SMALL`; with `full` if not every message fits.
 */
export function renderStrategy(strategy: Strategy, source: StrategySource, options: RenderOptions): RenderResult {
  const { tokensMax, tokenCounter } = options;
  if (strategy === "flat" || strategy === "sandwich") return renderSpan(source, strategy, options);
  const view = prepareView(strategyView(strategy, source, tokensMax), tokenCounter);
  if (strategy === "full") {
    // Open calls count as unanswered, so that a context still fits when its last step is closed.
    const window = view.steps.flatMap((step) => renderStep(step, false, tokenCounter));
    const tokensNeeded = view.pinnedTokens + tokenSum(window);
    if (tokensNeeded > tokensMax) throw new StoreError("BUDGET_TOO_SMALL", { tokensMax, tokensNeeded, strategy });
  }
  return renderContext(view, options);
}

function renderSpan(source: StrategySource, strategy: SpanStrategy, options: RenderOptions): RenderResult {
  const render = (headTokens: number) =>
    renderContext(prepareView(spanView(source, strategy, headTokens), options.tokenCounter), options);
  const head = headTokensMax(source, strategy, options.tokensMax);
  for (const headTokens of head === 0 ? [] : [head, head / 2, head / 4, head / 8]) {
    try {
      return render(headTokens);
    } catch (error) {
      if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
    }
  }
  return render(0);
}

function headTokensMax({ state }: StrategySource, strategy: SpanStrategy, tokensMax: number): number {
  return spanRuleOf(strategy, state.settings).top * Math.max(0, tokensMax - tokenSum(state.pinned));
}

/** If more than twice this number of messages follow the summary, only the newest are read, so that a render stays fast. */
const WINDOW_SEQS = 500;

/**
 * Returns a session with its newest summary of one span, as a view with one theme:
 *
 *     pinned   the caller's pinned messages, then the first steps up to `headTokensMax`
 *     theme    the remaining steps before the span, the messages of the summary, and messages that were not read
 *     window   all messages after it
 *
 * @param headTokensMax  Most tokens of the steps that are shown before the summary.
 */
function spanView(source: StrategySource, strategy: SpanStrategy, headTokensMax: number): RenderView {
  const { repositories, state } = source;
  const { spans, messages, summaries } = repositories;
  const summary = summaries.shownSpan(state.sessionId, strategy);
  const stepSeq = summary === undefined ? 0 : summary.seqLast + 1;
  const window = wholeSteps(source, windowFrom(stepSeq, state.nextSeq), stepSeq);
  const unread = spans.boundsOf(state.sessionId, stepSeq, (window[0]?.seq ?? state.nextSeq) - 1);

  const before =
    summary === undefined
      ? []
      : messages.range(state.sessionId, 0, summary.seqFirst - 1).filter(({ pinned }) => !pinned);
  const head = stepsWithin(before, headTokensMax);
  const unshown = before.slice(head.length);
  const firstId = unshown[0]?.id ?? summary?.rootId ?? unread?.firstId;
  const lastId = unread?.lastId ?? summary?.logPosition;
  const pinned = [...state.pinned, ...head];
  const tailTokensMax =
    spanRuleOf(strategy, state.settings).tail * (state.settings.contextTokensMax - tokenSum(state.pinned));
  if (firstId === undefined || lastId === undefined) return viewOf(source, pinned, window, undefined, tailTokensMax);
  const theme: ThemeView = {
    handle: formatHandle("span", firstId, lastId),
    label: summary?.title ?? "",
    messageCount: unshown.length + (summary?.messageCount ?? 0) + (unread?.messageCount ?? 0),
    tokenCount: (summary?.sourceTokenCount ?? 0) + (unread?.tokenCount ?? 0),
    seqFirst: unshown[0]?.seq ?? summary?.seqFirst ?? 0,
    seqLast: (window[0]?.seq ?? state.nextSeq) - 1,
    summaries:
      summary === undefined
        ? []
        : [
            {
              ...summary,
              handle: formatHandle("span", summary.rootId, summary.logPosition),
              statements: statementsOf(summary),
            },
          ],
    uncoveredCount: unshown.length + (unread?.messageCount ?? 0),
  };
  return viewOf(source, pinned, window, theme, tailTokensMax);
}

/** Returns the first seq to read. It moves in large steps, so that prompt caches seldom miss. */
function windowFrom(stepSeq: number, nextSeq: number): number {
  return stepSeq + Math.max(0, Math.floor((nextSeq - stepSeq) / WINDOW_SEQS) - 1) * WINDOW_SEQS;
}

/** Returns the whole steps from a seq on. If there are none, returns the newest step. @param stepSeq  A step begins there. */
function wholeSteps(source: StrategySource, from: number, stepSeq: number): readonly Message[] {
  const messages = source.unpinnedFrom(from);
  const firstId = messages[0]?.id ?? 0;
  const whole = messages.slice(messages.findLastIndex(({ stepId }) => stepId < firstId) + 1);
  if (whole.length > 0 || from === stepSeq) return whole;
  const all = source.unpinnedFrom(stepSeq);
  return all.filter(({ seq }) => seq >= (windowSteps(all).at(-1)?.seqFirst ?? 0));
}

/** Returns the first steps that cost at most `tokensMax`, without steps that continue after the cut. */
function stepsWithin(messages: readonly Message[], tokensMax: number): readonly Message[] {
  const steps = windowSteps(messages);
  const end = steps[countWithin(steps, tokensMax)];
  return end === undefined ? messages : messages.filter(({ seq }) => seq < end.seqFirst);
}

/** @param tailTokensMax  The tokens that a compaction leaves in the window. */
function viewOf(
  source: StrategySource,
  pinned: readonly Message[],
  window: readonly Message[],
  theme: ThemeView | undefined,
  tailTokensMax: number,
): RenderView {
  const { state, blocksOf } = source;
  const { contextTokensMax, flatTrigger, sandwichTrigger } = state.settings;
  const evictedSeq = window[0]?.seq ?? state.nextSeq;
  const headEnd = pinned.length > state.pinned.length ? pinned.at(-1)!.seq + 1 : 0;
  const steps = windowSteps(window);
  const [summary] = theme?.summaries ?? [];
  return {
    sessionId: state.sessionId,
    messageCount: messageCountOf(state),
    pinned,
    window,
    evictedSeq,
    windowTokensMax: Math.max(flatTrigger, sandwichTrigger) * contextTokensMax,
    anchorSeq: steps[countWithin(steps, tailTokensMax)]?.seqFirst ?? state.nextSeq,
    overlap: new Map(),
    themes: theme === undefined ? [] : [theme],
    overview: undefined,
    isSpan: true,
    firstColdId: theme && parseHandle(theme.handle).root,
    past: theme === undefined ? [] : source.past(headEnd, evictedSeq),
    blocksOf,
    placeOf: ({ seq }) => {
      const isCovered = summary !== undefined && seq >= summary.seqFirst && seq <= summary.seqLast;
      return { theme: 0, summary: isCovered ? 0 : undefined };
    },
    openStepId: state.openStep?.id,
  };
}
