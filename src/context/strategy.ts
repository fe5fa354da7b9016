import { StoreError } from "../core/errors.ts";
import type { Strategy } from "../core/options.ts";
import { tokenSum } from "./costs.ts";
import { prepareView } from "./prepare.ts";
import { renderContext } from "./render.ts";
import type { RenderOptions, RenderResult } from "./result.ts";
import { type SpanSource, spanView, wholeView } from "./span-view.ts";
import { renderStep } from "./steps.ts";
import type { RenderView } from "./view.ts";

/** The parts of a session that strategies read. */
export interface StrategySource extends SpanSource {
  /** Returns the session with its themes. */
  themesView(): RenderView;
}

/**
 * Returns the part of a session that a strategy renders.
 *
 * - `union-find`: a summary for each theme, the newest messages verbatim.
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
      return spanView(source, "flat", 0);
    case "sandwich":
      return spanView(source, "sandwich", headTokensMax(source, tokensMax));
    case "full":
      return wholeView(source);
  }
}

/**
 * Renders a session by a strategy.
 *
 * Every strategy keeps the promises of `renderContext`, with one exception: the prefix of a `sandwich` also breaks if its
 * newest step is so large that fewer first messages fit. A render never waits for a summary. Until there is one, it shows the
 * newest messages that fit, and a pointer line names the others.
 *
 * @throws {StoreError} `BUDGET_TOO_SMALL`; with `full` if not every message fits.
 */
export function renderStrategy(strategy: Strategy, source: StrategySource, options: RenderOptions): RenderResult {
  const { tokensMax, tokenCounter } = options;
  if (strategy === "sandwich") return renderSandwich(source, options);
  const view = prepareView(strategyView(strategy, source, tokensMax), tokenCounter);
  if (strategy === "full") {
    // Open calls count as unanswered, so that a context still fits when its last step is closed.
    const window = view.steps.flatMap((step) => renderStep(step, false, tokenCounter));
    const tokensNeeded = view.pinnedTokens + tokenSum(window);
    if (tokensNeeded > tokensMax) throw new StoreError("BUDGET_TOO_SMALL", { tokensMax, tokensNeeded, strategy });
  }
  return renderContext(view, options);
}

/** Halves the tokens of the first messages until the newest step fits as well. */
function renderSandwich(source: StrategySource, options: RenderOptions): RenderResult {
  const render = (headTokens: number) =>
    renderContext(prepareView(spanView(source, "sandwich", headTokens), options.tokenCounter), options);
  const head = headTokensMax(source, options.tokensMax);
  for (const headTokens of [head, head / 2, head / 4, head / 8]) {
    try {
      return render(headTokens);
    } catch (error) {
      if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
    }
  }
  return render(0);
}

/** Returns the most tokens of the first messages that `sandwich` shows. */
function headTokensMax({ state }: StrategySource, tokensMax: number): number {
  return state.settings.sandwichHead * Math.max(0, tokensMax - tokenSum(state.pinned));
}
