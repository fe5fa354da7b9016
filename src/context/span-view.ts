import { formatHandle } from "../core/handle.ts";
import type { Message } from "../core/message.ts";
import { countWithin, windowSteps } from "../forest/window.ts";
import type { Repositories } from "../store/repositories.ts";
import { messageCountOf, type SessionState } from "../store/session-state.ts";
import type { SpanStrategy } from "../store/spans.ts";
import { type RenderView, summaryViewOf, type ThemeView } from "./view.ts";

/**
 * If more than twice as many messages follow the summary, only the newest of them are read: between this many and twice as
 * many. That happens only while nobody makes summaries. The first render must not read a whole history then.
 */
const WINDOW_SEQS = 500;

/** The parts of a session that the strategies without themes read. */
export interface SpanSource {
  repositories: Repositories;
  state: SessionState;
  /** Returns the messages from a seq on that are not pinned, in order. */
  unpinnedFrom(seq: number): readonly Message[];
}

/** Returns all messages, without any summary. */
export function wholeView({ state, unpinnedFrom }: SpanSource): RenderView {
  return viewOf(state, state.pinned, unpinnedFrom(0), undefined);
}

/**
 * Returns a session with its newest summary of one span, as a view with one theme:
 *
 *     pinned   the caller's pinned messages, then the first steps up to `headTokensMax`
 *     theme    the remaining steps before the span, what the summary covers, and messages that were not read
 *     window   all messages after it
 *
 * So `renderContext` keeps its promises for spans too. The handle of the theme names a span, `span:12@480`.
 *
 * @param headTokensMax  Most tokens of the steps that are shown before the summary.
 */
export function spanView(source: SpanSource, strategy: SpanStrategy, headTokensMax: number): RenderView {
  const { repositories, state } = source;
  const { spans, messages } = repositories;
  const summary = spans.shown(state.sessionId, strategy);
  const stepSeq = summary === undefined ? 0 : summary.seqLast + 1;
  const window = wholeSteps(source, windowFrom(stepSeq, state.nextSeq), stepSeq);
  const unread = spans.boundsOf(state.sessionId, stepSeq, (window[0]?.seq ?? state.nextSeq) - 1);

  const before =
    summary === undefined
      ? []
      : messages.range(state.sessionId, 0, summary.seqFirst - 1).filter(({ pinned }) => !pinned);
  const head = stepsWithin(before, headTokensMax);
  const unshown = before.slice(head.length);
  const firstId = unshown[0]?.id ?? summary?.firstId ?? unread?.firstId;
  const lastId = unread?.lastId ?? summary?.lastId;
  if (firstId === undefined || lastId === undefined)
    return viewOf(state, [...state.pinned, ...head], window, undefined);
  const theme: ThemeView = {
    handle: formatHandle("span", firstId, lastId),
    label: summary?.title ?? "",
    messageCount: unshown.length + (summary?.messageCount ?? 0) + (unread?.messageCount ?? 0),
    tokenCount: (summary?.sourceTokenCount ?? 0) + (unread?.tokenCount ?? 0),
    seqFirst: unshown[0]?.seq ?? summary?.seqFirst ?? 0,
    seqLast: (window[0]?.seq ?? state.nextSeq) - 1,
    summaries:
      summary === undefined ? [] : [summaryViewOf(formatHandle("span", summary.firstId, summary.lastId), summary)],
    uncovered: unshown,
    uncoveredCount: unshown.length + (unread?.messageCount ?? 0),
  };
  return viewOf(state, [...state.pinned, ...head], window, theme);
}

/** Returns the first seq to read. It moves by hundreds of messages at once, so that prompt caches seldom miss. */
function windowFrom(stepSeq: number, nextSeq: number): number {
  return stepSeq + Math.max(0, Math.floor((nextSeq - stepSeq) / WINDOW_SEQS) - 1) * WINDOW_SEQS;
}

/**
 * Returns the messages from a seq on, without those of a step that began before it. If none are left, it returns the whole
 * newest step, which must not be missing.
 *
 * @param stepSeq  A seq at which a step begins.
 */
function wholeSteps(source: SpanSource, from: number, stepSeq: number): readonly Message[] {
  const messages = source.unpinnedFrom(from);
  const firstId = messages[0]?.id ?? 0;
  const whole = messages.slice(messages.findLastIndex(({ stepId }) => stepId < firstId) + 1);
  if (whole.length > 0 || from === stepSeq) return whole;
  const all = source.unpinnedFrom(stepSeq);
  return all.filter(({ seq }) => seq >= (windowSteps(all).at(-1)?.seqFirst ?? 0));
}

/** Returns the first steps that cost at most `tokensMax`. None of them has messages after the cut. */
function stepsWithin(messages: readonly Message[], tokensMax: number): readonly Message[] {
  const steps = windowSteps(messages);
  const end = steps[countWithin(steps, tokensMax)];
  return end === undefined ? messages : messages.filter(({ seq }) => seq < end.seqFirst);
}

function viewOf(
  state: SessionState,
  pinned: readonly Message[],
  window: readonly Message[],
  theme: ThemeView | undefined,
): RenderView {
  return {
    sessionId: state.sessionId,
    messageCount: messageCountOf(state),
    pinned,
    window,
    evictedSeq: window[0]?.seq ?? state.nextSeq,
    overlap: new Map(),
    themes: theme === undefined ? [] : [theme],
    openStepId: state.openStep?.id,
  };
}
