import type { RenderResult } from "../context/result.ts";
import type { RenderView } from "../context/view.ts";
import type { SessionState } from "../store/session-state.ts";

/** How full a session's context is, and what there is to win. Tokens are those of the store's counter. */
export interface Pressure {
  /** The budget that was asked about. */
  tokensMax: number;
  /** Of all messages as they were appended: what a host without a memory would send. */
  fullTokens: number;
  /** Of the context that `render` gives now; where none fits, what the smallest would cost. */
  contextTokens: number;
  /** `contextTokens` of `tokensMax`: from 0 to 1, above 1 where `render` would throw `BUDGET_TOO_SMALL`. */
  share: number;
  /** Whether `render` would throw. */
  isTooSmall: boolean;
  /** Of the messages that no summary is to stand for yet, pinned ones included: shown word for word where there is room. */
  hotTokens: number;
  /** How much of these the context leaves out or shortens. Above 0 it is time to compact, or for a larger budget. */
  hiddenTokens: number;
  /** How much of these `compact()` would leave to a summary now. */
  compactableTokens: number;
  /** Messages that are old enough for a summary and that none in the context covers: work for `resolveDirty()`. */
  unsummarizedCount: number;
}

/**
 * Reckoned from what a session holds in memory and from its context: of `union-find` no message is read for it.
 *
 * @param view  As the strategy has it.
 * @param compactableTo  Place of the first message that `compact` would leave in the window.
 * @param rendered  The context without a query, or what the smallest would cost.
 */
export function pressureOf(
  state: SessionState,
  { pinned, window, themes }: RenderView,
  compactableTo: number,
  tokensMax: number,
  rendered: RenderResult | { tokensNeeded: number },
): Pressure {
  const hotTokens = tokensOf(pinned) + tokensOf(window);
  const forestTokens = Array.from(state.themes.values()).reduce((sum, { theme }) => sum + theme.tokenCount, 0);
  const notInForest = [...state.pinned, ...state.window.filter(({ seq }) => seq >= state.graduatedSeq)];
  const isTooSmall = "tokensNeeded" in rendered;
  const contextTokens = isTooSmall ? rendered.tokensNeeded : rendered.tokenCount;
  const verbatim = new Set(
    isTooSmall ? [] : rendered.sources.map((source) => (source.how === "verbatim" ? source.messageId : 0)),
  );
  return {
    tokensMax,
    fullTokens: forestTokens + tokensOf(notInForest),
    contextTokens,
    share: contextTokens / tokensMax,
    isTooSmall,
    hotTokens,
    hiddenTokens: tokensOf([...pinned, ...window].filter(({ id }) => !verbatim.has(id))),
    compactableTokens: tokensOf(window.filter(({ seq }) => seq < compactableTo)),
    unsummarizedCount: themes.reduce((sum, { uncoveredCount }) => sum + uncoveredCount, 0),
  };
}

function tokensOf(messages: readonly { tokenCount: number }[]): number {
  return messages.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
}
