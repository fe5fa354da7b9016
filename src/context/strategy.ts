import { StoreError } from "../core/errors.ts";
import type { Strategy } from "../core/options.ts";
import { acceptableView } from "./acceptable.ts";
import type { Memory } from "./memory.ts";
import { pinnedPieces } from "./pinned.ts";
import { type Findings, renderUnionFind } from "./render.ts";
import type { RenderOptions, RenderResult } from "./result.ts";
import { type SpanSource, spanView, wholeView } from "./span-view.ts";
import { groupSteps, piecesOf, tokensOfPieces } from "./steps.ts";
import type { RenderView } from "./view.ts";

/** What of a session strategies read. */
export interface StrategySource extends SpanSource {
  /** The session with its themes, and the block of these. */
  forest(): { view: RenderView; memory: Memory };
}

/**
 * Port: a session to a context within a budget.
 *
 * Whatever the strategy, a context is legal, obeys its budget, keeps its prefix until something is compacted, shows the
 * newest step, and accounts for every message: see `renderUnionFind`, which writes all of them down. One prefix more may
 * break: that of a `sandwich` whose newest step is so large that first messages make way for it. Strategies differ in
 * what they read. It never waits for a summary: while there is none, or a newer one is due, the newest messages that fit
 * are shown and the others named.
 *
 * @param findings  For a query; `union-find` alone takes them.
 * @throws {StoreError} `BUDGET_TOO_SMALL`.
 */
export type RenderStrategy = (source: StrategySource, options: RenderOptions, findings?: Findings) => RenderResult;

/**
 * - `union-find`: a summary for each theme, the newest messages verbatim.
 * - `flat`: one running summary of all before the newest messages.
 * - `sandwich`: the first messages verbatim, one summary of the middle, the newest verbatim, in chronological order
 *   (the middle-out compression of llxprt-code).
 * - `full`: every message, or `BUDGET_TOO_SMALL`.
 */
export const RENDER_STRATEGIES: Readonly<Record<Strategy, RenderStrategy>> = {
  "union-find": ({ forest }, options, findings) => {
    const { view, memory } = forest();
    return renderUnionFind(view, options, memory, findings);
  },
  flat: (source, options) => renderUnionFind(strategyView("flat", source, options.tokensMax), options),
  sandwich: renderSandwich,
  full: renderFull,
};

/** What a strategy makes its context of. */
export function strategyView(strategy: Strategy, source: StrategySource, tokensMax: number): RenderView {
  switch (strategy) {
    case "union-find":
      return source.forest().view;
    case "flat":
      return spanView(source, "flat", 0);
    case "sandwich":
      return spanView(source, "sandwich", topTokensMax(source, tokensMax));
    case "full":
      return wholeView(source);
  }
}

/** Of the first messages that `sandwich` shows: a share of what the pinned ones leave. */
function topTokensMax({ state }: StrategySource, tokensMax: number): number {
  const pinnedTokens = state.pinned.reduce((sum, { tokenCount }) => sum + tokenCount, 0);
  return state.settings.sandwichHead * Math.max(0, tokensMax - pinnedTokens);
}

/** The first messages make way for the newest step, by halves, if both have no room. */
function renderSandwich(source: StrategySource, options: RenderOptions): RenderResult {
  const top = topTokensMax(source, options.tokensMax);
  for (const tokensMax of [top, top / 2, top / 4, top / 8]) {
    try {
      return renderUnionFind(spanView(source, "sandwich", tokensMax), options);
    } catch (error) {
      if (!StoreError.is(error, "BUDGET_TOO_SMALL")) throw error;
    }
  }
  return renderUnionFind(spanView(source, "sandwich", 0), options);
}

function renderFull(source: StrategySource, options: RenderOptions): RenderResult {
  const { tokensMax, tokenCounter } = options;
  const stored = strategyView("full", source, tokensMax);
  const view = acceptableView(stored, tokenCounter);
  // An open step as it will be if nobody answers it: closing it must not push anything out.
  const window = groupSteps(view.window).flatMap((step) => piecesOf(step, false, tokenCounter));
  const tokensNeeded = tokensOfPieces(pinnedPieces(view, tokenCounter)) + tokensOfPieces(window);
  if (tokensNeeded > tokensMax) throw new StoreError("BUDGET_TOO_SMALL", { tokensMax, tokensNeeded, strategy: "full" });
  return renderUnionFind(stored, options);
}
