import type { SessionSettings } from "../core/options.ts";
import { countWithin, type WindowStep } from "../forest/window.ts";
import type { SpanStrategy } from "../store/spans.ts";

/** What a summary may take of the tokens that the pinned messages leave. A quarter of what its block gets there. */
export const SUMMARY_SHARE = 0.1;

/** Where the pinned messages leave less, no summary is made: with its tags it would have no room to be shown. */
const FREE_TOKENS_MIN = 500;

/** Shares are of the tokens of the budget that the pinned messages leave. */
export interface SplitRule {
  /** A context that is fuller is to be compacted. */
  trigger: number;
  /** First steps that stay. */
  top: number;
  /** Newest steps that stay. */
  tail: number;
  /** Fewer messages between the two are not worth a summary. */
  messagesMin: number;
}

/** What a session's context holds. */
export interface Filling {
  pinnedTokens: number;
  /** The summary it stands on, and the tokens of the steps before what that covers. */
  summary: { seqFirst: number; seqLast: number; tokenCount: number; topTokens: number } | undefined;
  /** What no summary covers: all steps, or those after the summary's. */
  steps: readonly WindowStep[];
}

/** The places that the next summary covers, both included. */
export interface Split {
  seqFirst: number;
  seqLast: number;
}

/** Why there is nothing to split: too little between what stays, or too few messages there. */
export type NoSplit = "nothing_to_compress" | "middle_too_small";

export function splitRuleOf(strategy: SpanStrategy, settings: SessionSettings): SplitRule {
  if (strategy === "flat") return { trigger: settings.flatTrigger, top: 0, tail: settings.flatTail, messagesMin: 1 };
  const { sandwichTrigger: trigger, sandwichHead: top, sandwichTail: tail, sandwichMessagesMin } = settings;
  return { trigger, top, tail, messagesMin: sandwichMessagesMin };
}

/** Whether a context is to be compacted although nobody asks. */
export function isFull(filling: Filling, rule: SplitRule, tokensMax: number): boolean {
  const { pinnedTokens, summary, steps } = filling;
  const free = tokensMax - pinnedTokens;
  const ownTokens = steps.reduce((sum, step) => sum + step.tokenCount, 0);
  // Of a top that was made for a larger budget a smaller one shows no more than its own.
  const topTokens = Math.min(summary?.topTokens ?? 0, rule.top * free);
  return topTokens + (summary?.tokenCount ?? 0) + ownTokens > rule.trigger * free;
}

/**
 * Where a context is cut: what stays at its top and at its end, word for word, and what one summary stands for between.
 *
 * The thresholds are shares of the tokens that the pinned messages leave, not of the messages: half of a hundred thousand
 * messages fits no context, and one result may be as long as a hundred answers. What stays at the top is chosen once, by
 * the first split; later ones only lengthen the middle, so the prefix before the summary holds for good.
 *
 * Cuts fall between steps, and the newest step always stays.
 */
export function splitContext(
  { pinnedTokens, summary, steps }: Filling,
  rule: SplitRule,
  tokensMax: number,
): Split | NoSplit {
  const free = tokensMax - pinnedTokens;
  if (free < FREE_TOKENS_MIN) return "nothing_to_compress";
  const from = summary === undefined ? countWithin(steps, rule.top * free) : 0;
  const to = steps.length - Math.max(1, countWithin(steps.toReversed(), rule.tail * free));
  const middle = steps.slice(from, Math.max(from, to));
  if (middle.length === 0) return "nothing_to_compress";
  if (middle.reduce((sum, step) => sum + step.messageCount, 0) < rule.messagesMin) return "middle_too_small";
  return { seqFirst: summary?.seqFirst ?? middle[0]!.seqFirst, seqLast: middle.at(-1)!.seqLast };
}
