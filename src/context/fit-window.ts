import { StoreError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { MESSAGE_TOKENS, type TokenCounter } from "../core/tokens.ts";
import { continuityTokensMax } from "./continuity.ts";
import { tokenSum } from "./costs.ts";
import { gapTokensMax } from "./gap.ts";
import { type HotLimit, limitAt, placeHotStart } from "./hot-start.ts";
import { buildMemory, type Memory } from "./memory.ts";
import type { PreparedView } from "./prepare.ts";
import type { Continuity, RenderOptions } from "./result.ts";
import { shortenStep } from "./shorten-step.ts";
import { type PricedMessage, renderStep, type Step } from "./steps.ts";

export interface FittedWindow {
  /** The shown messages before the newest step. */
  earlier: PricedMessage[];
  /** The newest step; empty if the window is empty. */
  newest: PricedMessage[];
  /** The messages of the window that are not shown. */
  hidden: Message[];
  /** The memory block that leaves room for the shown messages. */
  memory: Memory;
  continuity: Continuity | undefined;
}

/**
 * Decides which steps of the window are shown, and how much room they leave for the memory block and continuity.
 *
 * The newest step is always shown, whole if possible. To make room for it, the memory block is halved as often as necessary,
 * then continuity is dropped, until only a pointer line remains. A step that does not fit beside that line is shortened to half
 * of the window's share, even if it is not the newest. If the newest step is a user message, it is never shortened.
 *
 * @param memory  The block at its full share.
 * @throws {StoreError} `BUDGET_TOO_SMALL` if pinned messages, newest step and pointer line do not fit.
 */
export function fitWindow(view: PreparedView, options: RenderOptions, memory: Memory): FittedWindow {
  const { tokensMax, tokenCounter } = options;
  const { steps, pinnedTokens } = view;
  const gapTokens = gapTokensMax(tokenCounter);
  const isCold = view.coldCount > 0;
  const free = tokensMax - pinnedTokens;
  const continuityTokens = continuityTokensMax(free, options);
  const levels = memorySizes(memory.tokenCount, gapTokens).map((size) => ({ size, continuityTokens }));
  if (continuityTokens > 0) levels.push({ size: 0, continuityTokens: 0 });
  const limits = levels.map(({ size, continuityTokens }): HotLimit => {
    const cut = free - MESSAGE_TOKENS - size - continuityTokens - gapTokens;
    if (size > 0) return { whole: cut + gapTokens, cut };
    return { whole: isCold ? cut : free, cut };
  });

  const fitted = steps.map((step, index) => {
    const isLast = index === steps.length - 1;
    const isWhole = isLast && step.messages[0]!.role === "user";
    const isOpen = isLast && step.messages[0]!.stepId === view.openStepId;
    const aloneTokensMax = isWhole ? Number.POSITIVE_INFINITY : limitAt(limits.at(-1)!, index);
    return fitStep(step, isOpen, aloneTokensMax, limits[0]!.cut / 2, tokenCounter);
  });
  const { start, level, tokenCount } = placeHotStart(
    fitted.map((step) => step.costs),
    limits,
  );

  if (tokenCount > limitAt(limits[level]!, start)) {
    const newestAlone = tokenCount + MESSAGE_TOKENS + gapTokens;
    // A few short messages may cost less than the pointer line that would replace them.
    const before = steps.slice(0, -1).flatMap((step) => renderStep(step, false, tokenCounter));
    const tokensLeast = isCold ? newestAlone : Math.min(newestAlone, tokenCount + tokenSum(before));
    throw new StoreError("BUDGET_TOO_SMALL", { tokensMax, tokensNeeded: pinnedTokens + tokensLeast });
  }
  const chosen = levels[level]!;
  const hidden = steps.slice(0, start).flatMap((step) => step.messages);
  const hasContinuity = chosen.continuityTokens > 0 && (isCold || start > 0);
  return {
    earlier: fitted.slice(start, -1).flatMap((step) => step.render()),
    newest: fitted.at(-1)?.render() ?? [],
    hidden,
    memory: level === 0 ? memory : buildMemory(view, chosen.size, tokenCounter),
    continuity: hasContinuity ? options.continuity?.write(hidden, chosen.continuityTokens) : undefined,
  };
}

/** Returns the sizes to try for the memory block: its own, then half of it and so on down to a pointer line, then 0. */
function memorySizes(tokenCount: number, gapTokens: number): number[] {
  const sizes: number[] = [];
  for (let size = tokenCount; size > 0; size = Math.floor(size / 2)) {
    if (size === tokenCount || size >= gapTokens) sizes.push(size);
  }
  return [...sizes, 0];
}

/** A step of the window and its cost, computed before it is known if the step is shown. */
interface FittedStep {
  /** The tokens of each message; for a shortened step, one number: the most it may cost. */
  costs: readonly number[];
  /** Called only if the step is shown, because shortening takes milliseconds and many steps are hidden. */
  render: () => PricedMessage[];
}

/**
 * Returns a step unchanged if it may be shown whole, else shortened.
 *
 * An open step is measured as if its calls stayed unanswered, so that closing it does not change how it is shown.
 *
 * @param aloneTokensMax  A step that costs more is shortened.
 * @param shortenedTokens  The target size of a shortened step. Its shortest form may cost more.
 */
function fitStep(
  step: Step,
  isOpen: boolean,
  aloneTokensMax: number,
  shortenedTokens: number,
  tokenCounter: TokenCounter,
): FittedStep {
  const rendered = renderStep(step, isOpen, tokenCounter);
  const asIs = { costs: rendered.map((message) => message.tokenCount), render: () => rendered };
  const closedTokens = tokenSum(isOpen ? renderStep(step, false, tokenCounter) : rendered);
  if (closedTokens <= aloneTokensMax) return asIs;
  const shortestTokens = tokenSum(renderStep(shortenStep(step, 0, tokenCounter), false, tokenCounter));
  if (shortestTokens >= closedTokens) return asIs; // the markers of a cut cost tokens too
  const cost = Math.max(shortestTokens, Math.floor(shortenedTokens));
  return { costs: [cost], render: () => renderStep(shortenStep(step, cost, tokenCounter), isOpen, tokenCounter) };
}
