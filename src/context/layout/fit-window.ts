import { DamageError } from "../../core/damage.ts";
import { StoreError } from "../../core/errors.ts";
import { formatHandle } from "../../core/handle.ts";
import { element } from "../../core/markup.ts";
import type { Message } from "../../core/message.ts";
import { isInjected } from "../../core/text.ts";
import { MESSAGE_TOKENS, type TokenCounter } from "../../core/tokens.ts";
import { tokenSum } from "../costs.ts";
import type { RenderOptions } from "../result.ts";
import { storyTokensMax } from "../story/story.ts";
import { shortenStep, shortestStep } from "../tool-output/shorten-step.ts";
import type { PreparedView } from "./prepare.ts";
import { type PricedMessage, renderStep, type Step } from "./steps.ts";

/**
 * Up to this budget each context is chosen afresh and fills its budget. A larger context keeps its prefix, so that prompt caches
 * hit, and leaves room for new messages. Providers cache no prefix that is shorter than 1,024 to 4,096 tokens.
 */
export const UNCACHED_TOKENS_MAX = 8_192;

/** The window gets this share of what the pinned messages leave, and the memory message gets the rest. */
const WINDOW_SHARE = 0.25;
/** A context of one running summary shows more of the newest messages, up to a number of tokens. */
const SPAN_WINDOW = { share: 0.4, tokensMax: 1_600 };
/** In a small context, what was said and done before needs nearly all the room. From so many tokens on, the share is whole. */
const SMALL_WINDOW_SHARE = 0.12;
const WHOLE_SHARE_TOKENS = 4_000;
/** The least share of the memory message in a context that keeps its prefix. The window grows into the rest. */
const CACHED_MEMORY_SHARE = 0.4;
/** A step of tools that takes more of a small context is shortened, because what came before says more. */
const ALONE_SHARE = 0.15;
/** A window may pass its limit by one step. */
const WINDOW_MARGIN = 1.2;

/** Returns the tokens of the memory message in a context that keeps its prefix. */
export function cachedMemoryTokens(free: number, windowTokensMax: number): number {
  return Math.max(free * CACHED_MEMORY_SHARE, free - WINDOW_MARGIN * windowTokensMax);
}

export interface FittedWindow {
  /** The shown messages before the newest step. */
  earlier: PricedMessage[];
  newest: PricedMessage[];
  hidden: Message[];
  /** The messages that were shown whole when the start of the window last moved. */
  placed: Message[];
  /** The first seq of the step that was the newest then. */
  anchorSeq: number;
  /** The tokens of the memory message. */
  memoryTokensMax: number;
  storyTokensMax: number;
}

/**
 * Decides which steps of the window are shown, and how much room the memory message gets.
 *
 * The newest step is always shown. To make room for it, the memory message is halved repeatedly. A step that does not fit even
 * then is shortened to half of the window's share. What the user asks at the end is never shortened.
 *
 * @param wholeTokensMax  The tokens of the whole context, if the options leave out those of the evidence.
 * @throws {StoreError} `BUDGET_TOO_SMALL` if pinned messages, newest step and pointer line do not fit.
 */
export function fitWindow(
  view: PreparedView,
  options: RenderOptions,
  wholeTokensMax = options.tokensMax,
): FittedWindow {
  const { tokensMax, tokenCounter } = options;
  const { steps, pinnedTokens } = view;
  const gapTokens = gapTokensMax(tokenCounter);
  const isCold = view.coldCount > 0;
  const free = tokensMax - pinnedTokens;
  const isCached = tokensMax > UNCACHED_TOKENS_MAX;
  const isFixed = isCached || view.isSpan;
  const cachedSize = isCached ? keptMemoryTokens(view, free, tokenCounter) : 0;
  const sizes = memorySizes(
    Math.floor(isCached ? cachedSize : free - windowTokens(free, view.isSpan)),
    gapTokens,
    isFixed,
  );
  // A short past does not fill the share.
  const wholeSize = Math.min(sizes[0]!, Math.ceil(view.coldTokens * PAST_SHARE) + storyTokensMax(free, options));
  const limits = sizes.map((size, level): HotLimit => {
    const cut = free - MESSAGE_TOKENS - size;
    if (!isCold) return { whole: free, cut };
    return { whole: level === 0 ? free - MESSAGE_TOKENS - Math.max(wholeSize, gapTokens) : cut, cut };
  });

  const fitted = steps.map((step, index) => {
    const isLast = index === steps.length - 1;
    const isAsked = isLast && step.messages[0]!.role === "user" && !step.messages[0]!.parts.every(isInjected);
    const roomMax = limitAt(limits.at(-1)!, index);
    const smallMax = isFixed || !isCold ? roomMax : Math.min(roomMax, ALONE_SHARE * (wholeTokensMax - pinnedTokens));
    const aloneTokensMax = isAsked ? Number.POSITIVE_INFINITY : smallMax;
    const shortenedTokens = isFixed || !isCold ? Math.min(limits[0]!.cut / 2, smallMax) : smallMax;
    return fitStep(step, isOpenIn(view, step), { aloneTokensMax, shortenedTokens }, tokenCounter);
  });
  const { start, level, tokenCount, movedAt } = placeHotStart(
    fitted.map((step) => step.costs),
    limits,
    isCached ? KEPT_SHARE : 1,
  );

  if (tokenCount > limitAt(limits[level]!, start)) {
    const newestAlone = tokenCount + MESSAGE_TOKENS + gapTokens;
    // A few short messages may cost less than the pointer line that would replace them.
    const before = steps.slice(0, -1).flatMap((step) => renderStep(step, false, tokenCounter));
    const tokensLeast = isCold ? newestAlone : Math.min(newestAlone, tokenCount + tokenSum(before));
    throw new StoreError("BUDGET_TOO_SMALL", { tokensMax, tokensNeeded: pinnedTokens + tokensLeast });
  }
  const last = Math.max(0, steps.length - 1);
  const frontierAnchor = steps.findIndex(({ messages }) => messages[0]!.seq >= view.anchorSeq);
  const moved = movedAt ?? (frontierAnchor === -1 ? last : frontierAnchor);
  const anchor = Math.max(start, isCached ? Math.min(moved, last) : last);
  const room = free - MESSAGE_TOKENS - tokenCount;
  const size = level === 0 && start === 0 ? wholeSize : sizes[level]!;
  return {
    earlier: fitted.slice(start, last).flatMap((step) => step.render()),
    newest: fitted.at(-1)?.render() ?? [],
    hidden: steps.slice(0, start).flatMap((step) => step.messages),
    placed: [
      ...(view.filledAtMove ?? []),
      ...steps
        .slice(start, isCached ? anchor : undefined)
        .flatMap((step) => step.messages)
        .filter(({ id, seq }) => !view.shortened?.has(id) && seq >= (view.filledUntil ?? 0)),
    ],
    anchorSeq: steps[anchor]?.messages[0]?.seq ?? view.evictedSeq,
    memoryTokensMax: isCached ? Math.min(room, Math.max(size, gapTokens)) : room,
    storyTokensMax: Math.floor((storyTokensMax(free, options) * sizes[level]!) / Math.max(1, sizes[0]!)),
  };
}

/** Returns `cachedMemoryTokens`, or more: what the window is not expected to need, until it does. */
function keptMemoryTokens(view: PreparedView, free: number, tokenCounter: TokenCounter): number {
  const { expectedTokens, windowTokensMax } = view;
  const least = cachedMemoryTokens(free, windowTokensMax);
  if (expectedTokens === undefined || closedTokens(view, tokenCounter) > expectedTokens) return least;
  return Math.max(least, free - MESSAGE_TOKENS - expectedTokens);
}

type Steps = Pick<PreparedView, "steps" | "openStepId">;

/** Returns the tokens that all steps cost in a form that providers accept. */
export function closedTokens(view: Steps, tokenCounter: TokenCounter): number {
  return view.steps.reduce((sum, step) => {
    return sum + stepAsIs(step, isOpenIn(view, step), tokenCounter).closedTokens;
  }, 0);
}

function isOpenIn({ steps, openStepId }: Steps, step: Step): boolean {
  return step === steps.at(-1) && step.messages[0]!.stepId === openStepId;
}

function windowTokens(free: number, isSpan: boolean): number {
  if (isSpan) return Math.max(Math.min(SPAN_WINDOW.tokensMax, free * SPAN_WINDOW.share), free * WINDOW_SHARE);
  const share = Math.max(SMALL_WINDOW_SHARE, (WINDOW_SHARE * free) / WHOLE_SHARE_TOKENS);
  return Math.min(share, WINDOW_SHARE) * free;
}

/** A past may take this share of its own tokens, because the tags and marks of a digest cost about a sixth of its text. */
const PAST_SHARE = 1.2;

/** The share of the room for older steps that stays full when the start of the window moves. */
const KEPT_SHARE = 0.5;

/**
 * Returns the sizes to try for the memory message: its share, then smaller ones, then only a pointer line. A context that keeps its
 * prefix, or has one running summary, tries few.
 */
function memorySizes(share: number, gapTokens: number, isFixed: boolean): number[] {
  const sizes: number[] = [];
  for (let size = share; size > 2 * gapTokens; size = Math.floor(size * (isFixed ? 0.5 : 0.8))) sizes.push(size);
  return [...sizes, gapTokens];
}

interface FittedStep {
  /** The tokens of each message. A shortened step has one number: the most that it may cost. */
  costs: readonly number[];
  /** Called only for shown steps, because shortening takes milliseconds. */
  render: () => PricedMessage[];
}

/**
 * Measures an open step as if its calls stayed unanswered, so that closing the step does not change how it is shown.
 *
 * @param limit.aloneTokensMax  A step that costs more is shortened.
 * @param limit.shortenedTokens  The target size of a shortened step. Its shortest form may cost more.
 */
function fitStep(
  step: Step,
  isOpen: boolean,
  { aloneTokensMax, shortenedTokens }: { aloneTokensMax: number; shortenedTokens: number },
  tokenCounter: TokenCounter,
): FittedStep {
  const asIs = stepAsIs(step, isOpen, tokenCounter);
  if (asIs.closedTokens <= aloneTokensMax) return asIs;
  const shortestOf = (shortenBy: typeof shortenStep): number =>
    tokenSum(renderStep(shortenBy(step, 0, tokenCounter), false, tokenCounter));
  let shortenBy = shortenStep;
  let shortestTokens = shortestOf(shortenBy);
  if (shortestTokens > aloneTokensMax) {
    shortenBy = shortestStep;
    shortestTokens = shortestOf(shortenBy);
  }
  if (shortestTokens >= asIs.closedTokens) return asIs; // the markers of a cut cost tokens too
  const cost = Math.max(shortestTokens, Math.floor(shortenedTokens));
  return { costs: [cost], render: () => renderStep(shortenBy(step, cost, tokenCounter), isOpen, tokenCounter) };
}

interface StepAsIs extends FittedStep {
  step: Step;
  isOpen: boolean;
  tokenCounter: TokenCounter;
  closedTokens: number;
}

/** Steps are kept by their first message, because the window of each render has nearly the same steps. */
const known = new WeakMap<Message, StepAsIs>();

function stepAsIs(step: Step, isOpen: boolean, tokenCounter: TokenCounter): StepAsIs {
  const first = step.messages[0]!;
  const last = known.get(first);
  if (last?.isOpen === isOpen && last.tokenCounter === tokenCounter && isSame(step, last.step)) return last;
  const rendered = renderStep(step, isOpen, tokenCounter);
  const costs = rendered.map((message) => message.tokenCount);
  const closedTokens = tokenSum(isOpen ? renderStep(step, false, tokenCounter) : rendered);
  const asIs = { step, isOpen, tokenCounter, costs, closedTokens, render: () => rendered };
  known.set(first, asIs);
  return asIs;
}

function isSame(step: Step, other: Step): boolean {
  if (step.messages.length !== other.messages.length) return false;
  for (const [index, message] of step.messages.entries()) {
    if (message !== other.messages[index]) return false;
    if (step.shortened.has(message.id) !== other.shortened.has(message.id)) return false;
  }
  return true;
}

/** The tokens that the window may use at one size of the memory message. */
export interface HotLimit {
  /** The limit if the window is shown from its first step. */
  whole: number;
  /** The limit if its first steps are hidden. A pointer line then names them. */
  cut: number;
}

/**
 * Finds the step from which the window is shown.
 *
 * A provider caches the prefix of a prompt, so the start must not move with every message. The function walks over all
 * messages since the frontier, as if a context had been rendered after each. When the shown messages no longer fit, the
 * start moves far enough to free a share of the room, and stays until that is used up. So the next render finds the same
 * start without storing it.
 *
 * If the newest step is larger than the window's share, the first of `limits` at which it fits applies, until the start moves
 * again. The memory message is then smaller.
 *
 * @param steps  The tokens of each message of each step, in order.
 * @param limits  At least one, in ascending order of room.
 * @param keptShare  The share of the room for older steps that stays full when the start moves.
 * @returns the index of the first shown step, the index of its limit, and the tokens of the shown steps. They exceed the last
 *   limit if the newest step alone does not fit. `movedAt` is the index of the step that was the newest when the start moved last.
 */
export function placeHotStart(
  steps: readonly (readonly number[])[],
  limits: readonly HotLimit[],
  keptShare = KEPT_SHARE,
): { start: number; level: number; tokenCount: number; movedAt?: number } {
  const last = limits.length - 1;
  const stepTokens = steps.map((costs) => costs.reduce((sum, cost) => sum + cost, 0));

  let start = 0;
  let level = 0;
  let used = 0;
  let movedAt: number | undefined;
  steps.forEach((costs, newest) => {
    let own = 0;
    for (const cost of costs) {
      own += cost;
      used += cost;
      if (used <= limitAt(limits[level]!, start)) continue;
      movedAt = newest;
      // Older steps get a share of the room that the newest step leaves. A share of all room could hide them all.
      const usedMax = own + Math.max(0, limits[0]!.cut - own) * keptShare;
      while (start < newest && used > usedMax) used -= stepTokens[start++]!;
      level = 0;
      while (level < last && used > limitAt(limits[level]!, start)) level++;
    }
  });
  return { start, level, tokenCount: used, ...(movedAt !== undefined && { movedAt }) };
}

export function limitAt(limit: HotLimit, start: number): number {
  return start === 0 ? limit.whole : limit.cut;
}

/** One pointer line: the hidden messages of the window, and all cold messages if there is no memory message. */
export interface Gap {
  seqFirst: number;
  seqLast: number;
  /** It names all messages from the first to the last. */
  handle: string;
  /** Pinned messages do not count, and neither do shown results of a step that began in the gap. */
  messageCount: number;
}

/** @param hasThemes  True if lines of the themes name what has left the window. */
export function gapOf(view: PreparedView, hidden: readonly Message[], hasThemes: boolean): Gap | undefined {
  const coldCount = hasThemes ? 0 : view.coldCount;
  if (coldCount + hidden.length === 0) return undefined;
  // Steps may interleave, so the newest message may be in an earlier step.
  const newest = hidden.reduce<Message | undefined>(
    (last, next) => (last && last.seq > next.seq ? last : next),
    undefined,
  );
  const firstId = coldCount > 0 ? view.firstColdId : hidden[0]!.id;
  if (firstId === undefined) throw new DamageError(`messages of session "${view.sessionId}" are missing`);
  const lastId = newest?.id ?? view.past.at(-1)?.id ?? firstId;
  return {
    seqFirst: coldCount > 0 ? 0 : hidden[0]!.seq,
    seqLast: newest?.seq ?? view.evictedSeq - 1,
    handle: formatHandle("span", firstId, lastId),
    messageCount: coldCount + hidden.length,
  };
}

export function gapElement({ seqFirst, seqLast, handle, messageCount }: Gap): string {
  const attributes = { handle, messages: messageCount, seq: `${seqFirst}-${seqLast}` };
  return element("pointer", attributes, "Left out: expand(handle) reads them.");
}

const MESSAGES_MAX = 9_999_999;
const LONGEST_GAP = gapElement({
  seqFirst: MESSAGES_MAX,
  seqLast: MESSAGES_MAX,
  handle: formatHandle("span", Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  messageCount: MESSAGES_MAX,
});

/** Returns the most tokens of a pointer line. The number is fixed, so that a longer seq does not move the window's start. */
export function gapTokensMax(tokenCounter: TokenCounter): number {
  return tokenCounter.count(LONGEST_GAP);
}

/** Evidence gets this many tokens before the memory message and the earlier window get any. */
const EVIDENCE_FIRST = 2_000;

/** Evidence then gets this share of the rest. Its first few thousand tokens answer most questions. */
const EVIDENCE_SHARE = 1 / 3;

/**
 * Returns the tokens for the part of a context that does not depend on the query: at least the pinned messages, the newest step
 * and a pointer line.
 */
export function stableTokensMax(view: PreparedView, tokensMax: number, tokenCounter: TokenCounter): number {
  const newest = view.steps.at(-1);
  const newestTokens = newest === undefined ? 0 : tokenSum(renderStep(newest, false, tokenCounter));
  const least = view.pinnedTokens + newestTokens + MESSAGE_TOKENS + gapTokensMax(tokenCounter);
  const beyondFirst = Math.max(0, tokensMax - EVIDENCE_FIRST);
  return Math.min(tokensMax, Math.max(least, Math.floor(beyondFirst * (1 - EVIDENCE_SHARE))));
}
