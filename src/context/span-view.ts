import { formatHandle } from "../core/handle.ts";
import type { Message } from "../core/message.ts";
import { countWithin, windowSteps } from "../forest/window.ts";
import type { Repositories } from "../store/repositories.ts";
import { messageCountOf, type SessionState } from "../store/session-state.ts";
import type { DoneSpan, SpanStrategy } from "../store/spans.ts";
import type { RenderView, SummaryView, ThemeView } from "./view.ts";

/**
 * Places after the summary from which on the window is read in full; twice as many at most. More than a context has room
 * for are there only while nobody lets summaries be made, and the first render must not read a whole history then.
 */
const WINDOW_PLACES = 500;

/** What of a session a strategy reads. */
export interface SpanSource {
  repositories: Repositories;
  state: SessionState;
  /** Messages from a place on that are not pinned, in order. */
  unpinnedFrom(seq: number): readonly Message[];
}

/** All messages, and nothing that stands for any. */
export function wholeView({ state, unpinnedFrom }: SpanSource): RenderView {
  return viewOf(state, state.pinned, unpinnedFrom(0), undefined);
}

/**
 * A session as its newest summary of one stretch leaves it: what comes before the stretch, the summary, what comes after.
 *
 *     pinned   the caller's own, then the first steps up to `topTokensMax`
 *     theme    one: the rest of those steps, what the summary covers, and what has not been read
 *     window   all after it
 *
 * So everything that a context of themes promises holds here, too; the theme's handle names a stretch, `span:12@480`.
 *
 * @param topTokensMax  Tokens of the steps before the stretch that stand before its summary; a budget that is smaller than
 *   the one it was made for has room for fewer of them.
 */
export function spanView(source: SpanSource, strategy: SpanStrategy, topTokensMax: number): RenderView {
  const { repositories, state } = source;
  const { spans, messages } = repositories;
  const summary = spans.shown(state.sessionId, strategy);
  const restFrom = summary === undefined ? 0 : summary.seqLast + 1;
  const window = wholeSteps(source, windowFrom(restFrom, state.nextSeq), restFrom);
  const unread = spans.boundsOf(state.sessionId, restFrom, (window[0]?.seq ?? state.nextSeq) - 1);

  const before =
    summary === undefined
      ? []
      : messages.range(state.sessionId, 0, summary.seqFirst - 1).filter(({ pinned }) => !pinned);
  const top = stepsWithin(before, topTokensMax);
  const rest = before.slice(top.length);
  const firstId = rest[0]?.id ?? summary?.firstId ?? unread?.firstId;
  const lastId = unread?.lastId ?? summary?.lastId;
  if (firstId === undefined || lastId === undefined) return viewOf(state, [...state.pinned, ...top], window, undefined);
  const theme: ThemeView = {
    handle: formatHandle("span", firstId, lastId),
    label: summary?.title ?? "",
    messageCount: rest.length + (summary?.messageCount ?? 0) + (unread?.messageCount ?? 0),
    tokenCount: (summary?.sourceTokenCount ?? 0) + (unread?.tokenCount ?? 0),
    seqFirst: rest[0]?.seq ?? summary?.seqFirst ?? 0,
    seqLast: (window[0]?.seq ?? state.nextSeq) - 1,
    summaries: summary === undefined ? [] : [summaryView(summary)],
    uncovered: rest,
    uncoveredCount: rest.length + (unread?.messageCount ?? 0),
  };
  return viewOf(state, [...state.pinned, ...top], window, theme);
}

/** Moves by hundreds of messages, so that a prompt cache seldom misses for it. */
function windowFrom(restFrom: number, nextSeq: number): number {
  return restFrom + Math.max(0, Math.floor((nextSeq - restFrom) / WINDOW_PLACES) - 1) * WINDOW_PLACES;
}

/**
 * From a place on, without the end of a step that began before it; but where nothing else is there, all of that step: the
 * newest must not be missing, however many messages it has.
 *
 * @param restFrom  A step begins there.
 */
function wholeSteps(source: SpanSource, from: number, restFrom: number): readonly Message[] {
  const messages = source.unpinnedFrom(from);
  const firstId = messages[0]?.id ?? 0;
  const whole = messages.slice(messages.findLastIndex(({ stepId }) => stepId < firstId) + 1);
  if (whole.length > 0 || from === restFrom) return whole;
  const all = source.unpinnedFrom(restFrom);
  return all.filter(({ seq }) => seq >= (windowSteps(all).at(-1)?.seqFirst ?? 0));
}

/** As many of the first steps as cost no more than that. No step of them goes on behind the cut. */
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

function summaryView({ firstId, lastId, title, text, messageCount, seqFirst, seqLast }: DoneSpan): SummaryView {
  return { handle: formatHandle("span", firstId, lastId), title, text, messageCount, seqFirst, seqLast };
}
