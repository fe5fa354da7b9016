import type { SpanRule } from "../core/options.ts";
import { countWithin, type WindowStep } from "../forest/window.ts";

/** A summary may take this share of the tokens that the pinned messages leave. The memory block may take 0.4. */
export const SUMMARY_SHARE = 0.1;

/** If the pinned messages leave fewer tokens, no summary is made, because it would not fit with its tags. */
const FREE_TOKENS_MIN = 500;

export interface Filling {
  pinnedTokens: number;
  /** The newest summary. `topTokens` counts the steps before its span. */
  summary: { seqFirst: number; seqLast: number; tokenCount: number; topTokens: number } | undefined;
  /** The steps after the summary's span; without a summary, all steps. */
  steps: readonly WindowStep[];
}

/** Both seqs are included. */
export type Split = { seqFirst: number; seqLast: number };

/** Why there is nothing to summarize: no steps lie between those that stay, or the steps between them have too few messages. */
export type NoSplit = "nothing_to_compress" | "middle_too_small";

export function isFull(filling: Filling, rule: SpanRule, tokensMax: number): boolean {
  const { pinnedTokens, summary, steps } = filling;
  const free = tokensMax - pinnedTokens;
  const ownTokens = steps.reduce((sum, step) => sum + step.tokenCount, 0);
  // The first steps may have been chosen for a larger budget. A context shows no more of them than their share.
  const topTokens = Math.min(summary?.topTokens ?? 0, rule.top * free);
  return topTokens + (summary?.tokenCount ?? 0) + ownTokens > rule.trigger * free;
}

/**
 * Returns the span of a context that a summary covers. The steps before and after it stay word for word.
 *
 * Shares count tokens, not messages: half of 100,000 messages fits in no context, and one result may be as long as a hundred
 * answers. The first split chooses the head. Later splits only lengthen the span, so the prefix before the summary never
 * changes. Cuts are made between steps, and the newest step always stays.
 */
export function splitContext(
  { pinnedTokens, summary, steps }: Filling,
  rule: SpanRule,
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
