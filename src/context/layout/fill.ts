import type { Message } from "../../core/message.ts";
import type { SessionSettings } from "../../core/options.ts";
import type { TokenCounter } from "../../core/tokens.ts";
import { countWithin, windowSteps } from "../../forest/window.ts";
import { tokenSum } from "../costs.ts";
import type { RenderView } from "../view.ts";
import { cachedMemoryTokens, closedTokens, UNCACHED_TOKENS_MAX } from "./fit-window.ts";
import { groupSteps } from "./steps.ts";

/** Messages before the frontier leave a context in pieces of this share of its budget, so that its prefix changes seldom. */
const PIECE_SHARE = 0.08;
/** The forms that providers accept may cost a little more than messages do. */
const MARGIN_SHARE = 0.01;

/**
 * Returns the view with messages from before the frontier in its window, so that a budget of more than `UNCACHED_TOKENS_MAX` is
 * used. They leave in pieces as the window grows. The digest is chosen as if those of the last move were all still there.
 *
 * @param pastBefore  Returns the messages for the digest before a seq. The same seq gives the same list.
 * @param before  Returns the newest messages before the frontier, in whole steps, with at least so many tokens.
 */
export function filledView(
  view: RenderView,
  tokensMax: number,
  before: (tokens: number) => readonly Message[],
  pastBefore: (seq: number) => RenderView["past"],
): RenderView {
  if (tokensMax <= UNCACHED_TOKENS_MAX) return view;
  const free = (1 - MARGIN_SHARE) * (tokensMax - tokenSum(view.pinned));
  const own = tokenSum(view.window);
  const messages = before(free);
  const all = tokenSum(messages);
  const isWhole = messages[0]?.id === view.firstColdId;
  if (isWhole && all + own <= free) return withMessages(view, messages, messages, pastBefore);
  const room = free - cachedMemoryTokens(free, view.windowTokensMax);
  const piece = PIECE_SHARE * tokensMax;
  const filling = (windowTokens: number): readonly Message[] => {
    const steps = windowSteps(messages).reverse();
    const count = countWithin(steps, Math.floor((room - windowTokens) / piece) * piece);
    const first = steps[count - 1];
    return first === undefined ? [] : messages.filter(({ seq }) => seq >= first.seqFirst);
  };
  const atMove = filling(tokenSum(view.window.filter(({ seq }) => seq <= view.anchorSeq)));
  return withMessages(view, filling(own), atMove, pastBefore);
}

/**
 * Returns the view with all messages before the frontier in its window; undefined if they do not fit.
 *
 * @param unpinned  Returns all messages that are not pinned, in order.
 */
export function wholeView(
  view: RenderView,
  tokensMax: number,
  unpinned: () => Pick<RenderView, "window" | "shortened">,
  pastBefore: (seq: number) => RenderView["past"],
  tokenCounter: TokenCounter,
): RenderView | undefined {
  if (tokensMax <= UNCACHED_TOKENS_MAX) return undefined;
  const free = (1 - MARGIN_SHARE) * (tokensMax - tokenSum(view.pinned));
  const inOverlap = view.window.filter(({ id }) => view.overlap.has(id));
  if (tokenSum(view.themes) - tokenSum(inOverlap) + tokenSum(view.window) > free) return undefined;
  const { window, shortened } = unpinned();
  // Calls and results that do not stand together cost more than the messages.
  const steps = groupSteps(window, shortened);
  if (closedTokens({ steps, openStepId: view.openStepId }, tokenCounter) > free) return undefined;
  const before = window.filter(({ seq }) => seq < view.evictedSeq);
  return { ...withMessages(view, before, before, pastBefore), ...(shortened && { shortened }) };
}

function withMessages(
  view: RenderView,
  filling: readonly Message[],
  atMove: readonly Message[],
  pastBefore: (seq: number) => RenderView["past"],
): RenderView {
  if (atMove.length === 0) return view;
  const overlap = new Map(view.overlap);
  const uncoveredCounts = view.themes.map(({ uncoveredCount }) => uncoveredCount);
  for (const message of filling) {
    const place = view.placeOf(message);
    overlap.set(message.id, place);
    if (place.summary === undefined) uncoveredCounts[place.theme]! -= 1;
  }
  return {
    ...view,
    window: [...filling, ...view.window],
    evictedSeq: filling[0]?.seq ?? view.evictedSeq,
    overlap,
    themes: view.themes.map((theme, index) => ({ ...theme, uncoveredCount: uncoveredCounts[index]! })),
    past: pastBefore(atMove[0]!.seq),
    filledAtMove: atMove,
    filledUntil: view.evictedSeq,
  };
}

/** The message that fills the window passes its limit. */
const LIMIT_MARGIN = 1.02;

/** When the window needs more than was expected, it gets this share of its limit at least. */
const GROWTH_SHARE = 1 / 8;

/**
 * Returns the tokens that the window will probably have when the frontier moves next. The estimate is made when it moves, and again
 * whenever the window has outgrown it. Later messages do not change an earlier estimate.
 */
export function expectedTokens(
  { window, overlap, anchorSeq, windowTokensMax }: RenderView,
  { hotSize, evictBatch }: Pick<SessionSettings, "hotSize" | "evictBatch">,
): number {
  const tokensMax = LIMIT_MARGIN * windowTokensMax;
  let [tokens, waiting, expected] = [0, 0, 0];
  for (const [index, { id, seq, tokenCount }] of window.entries()) {
    tokens += tokenCount;
    if (!overlap.has(id)) waiting += 1;
    if (seq < anchorSeq || tokens <= expected) continue;
    const toCome = Math.max(0, hotSize + evictBatch - waiting);
    const more = Math.max((toCome * tokens) / (index + 1), expected === 0 ? 0 : GROWTH_SHARE * windowTokensMax);
    expected = Math.min(tokensMax, tokens + more);
  }
  return expected;
}
