import { MESSAGE_TOKENS, type TokenCounter } from "../core/tokens.ts";
import { tokenSum } from "./costs.ts";
import { gapTokensMax } from "./gap.ts";
import type { PreparedView } from "./prepare.ts";
import { renderStep } from "./steps.ts";

/** The tokens that evidence gets before anything else, apart from the pinned messages and the newest step. */
const EVIDENCE_FIRST = 2_000;

/** The share of the remaining tokens that evidence gets. Its first few thousand tokens answer most questions. */
const EVIDENCE_SHARE = 1 / 3;

/**
 * Returns the tokens for the part of a context that does not depend on the query.
 *
 * With a small budget, evidence gets everything except the pinned messages, the newest step and a pointer line. With a larger
 * one, the memory block and the window get most. The split does not depend on the evidence found, because the bytes before the
 * evidence must not.
 *
 * @returns at least the tokens that a context without evidence needs, if `tokensMax` has as many.
 */
export function stableTokensMax(view: PreparedView, tokensMax: number, tokenCounter: TokenCounter): number {
  const newest = view.steps.at(-1);
  const newestTokens = newest === undefined ? 0 : tokenSum(renderStep(newest, false, tokenCounter));
  const least = view.pinnedTokens + newestTokens + MESSAGE_TOKENS + gapTokensMax(tokenCounter);
  const beyondFirst = Math.max(0, tokensMax - EVIDENCE_FIRST);
  return Math.min(tokensMax, Math.max(least, Math.floor(beyondFirst * (1 - EVIDENCE_SHARE))));
}
