import { tokenSum } from "../context/costs.ts";
import type { RenderResult } from "../context/result.ts";
import type { RenderView } from "../context/view.ts";
import type { SessionState } from "../store/index.ts";

/** How full a session's context is, and how many tokens `compact` would free. The store's counter counts the tokens. */
export interface Pressure {
  tokensMax: number;
  /** The tokens of all messages as they were appended. A host without Coppice would send all of them. */
  fullTokens: number;
  /** The tokens of the context that `render` returns now. If none fits, the tokens of the smallest context. */
  contextTokens: number;
  /** `contextTokens / tokensMax`: from 0 to 1, or above 1 if `render` would throw. */
  share: number;
  /** True if `render` would throw `BUDGET_TOO_SMALL`. */
  isTooSmall: boolean;
  /** The tokens of the pinned messages and the window. If there is room, these messages are shown word for word. */
  hotTokens: number;
  /** The part of `hotTokens` that the context leaves out or shortens. If it is above 0, compact or use a larger budget. */
  hiddenTokens: number;
  /** The part of `hotTokens` that `compact()` would replace by a summary now. */
  compactableTokens: number;
  /** The number of messages before the window that no summary covers. `resolveDirty()` summarizes them when they are due. */
  unsummarizedCount: number;
}

/**
 * @param compactableTo  The first seq that `compact` would leave in the window.
 * @param rendered  The context without a query. If none fits, the tokens of the smallest context.
 */
export function pressureOf(
  state: SessionState,
  { pinned, window, themes }: RenderView,
  compactableTo: number,
  tokensMax: number,
  rendered: RenderResult | { tokensNeeded: number },
): Pressure {
  const forestTokens = tokenSum(Array.from(state.themes.values(), ({ theme }) => theme));
  const notInForest = [...state.pinned, ...state.window.filter(({ seq }) => seq >= state.graduatedSeq)];
  const isTooSmall = "tokensNeeded" in rendered;
  const contextTokens = isTooSmall ? rendered.tokensNeeded : rendered.tokenCount;
  const sources = isTooSmall ? [] : rendered.sources;
  const verbatim = new Set(sources.map((source) => (source.how === "verbatim" ? source.messageId : 0)));
  const hot = [...pinned, ...window];
  return {
    tokensMax,
    fullTokens: forestTokens + tokenSum(notInForest),
    contextTokens,
    share: contextTokens / tokensMax,
    isTooSmall,
    hotTokens: tokenSum(hot),
    hiddenTokens: tokenSum(hot.filter(({ id }) => !verbatim.has(id))),
    compactableTokens: tokenSum(window.filter(({ seq }) => seq < compactableTo)),
    unsummarizedCount: themes.reduce((sum, { uncoveredCount }) => sum + uncoveredCount, 0),
  };
}
