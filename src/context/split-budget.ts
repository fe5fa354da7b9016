import { MESSAGE_TOKENS } from "../core/tokens.ts";
import { acceptableView } from "./acceptable.ts";
import { gapTokensMax } from "./gap.ts";
import { pinnedPieces } from "./pinned.ts";
import type { RenderOptions } from "./result.ts";
import { groupSteps, piecesOf, tokensOfPieces } from "./steps.ts";
import type { RenderView } from "./view.ts";

/** Tokens that evidence may take before anything but the pinned messages and the newest step. */
const EVIDENCE_FIRST = 2_000;

/** Its share of the rest. Most of what answers a question stands in the first few thousand tokens. */
const EVIDENCE_SHARE = 1 / 3;

/**
 * What is left of `tokensMax` for the part of a context that does not depend on the query.
 *
 * A small budget goes to evidence, but for the pinned messages, the newest step and a pointer line; of a larger one the
 * memory block and the window get most of what is over. The split does not depend on what is found: the bytes before the
 * evidence must not.
 *
 * @returns no less than what a context needs, where `tokensMax` is not: evidence refuses no budget.
 */
export function stableTokensMax(stored: RenderView, { tokensMax, tokenCounter }: RenderOptions): number {
  const view = acceptableView(stored, tokenCounter);
  const newest = groupSteps(view.window).at(-1);
  const least =
    tokensOfPieces(pinnedPieces(view, tokenCounter)) +
    (newest === undefined ? 0 : tokensOfPieces(piecesOf(newest, false, tokenCounter))) +
    MESSAGE_TOKENS +
    gapTokensMax(tokenCounter);
  const rest = Math.max(0, tokensMax - EVIDENCE_FIRST);
  return Math.min(tokensMax, Math.max(least, Math.floor(rest * (1 - EVIDENCE_SHARE))));
}
