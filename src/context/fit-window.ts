import { StoreError } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import { MESSAGE_TOKENS } from "../core/tokens.ts";
import { coldMessageCount } from "./cold.ts";
import { continuityTokensMax } from "./continuity.ts";
import { fitStep } from "./fit-step.ts";
import { gapTokensMax } from "./gap.ts";
import { type HotLimit, placeHotStart } from "./hot-start.ts";
import { buildMemory, type Memory } from "./memory.ts";
import type { Continuity, RenderOptions } from "./result.ts";
import { groupSteps, type Piece, piecesOf, tokensOfPieces } from "./steps.ts";
import type { RenderView } from "./view.ts";

export interface FittedWindow {
  /** The end of the window, whole steps. */
  shown: Piece[];
  /** Index into it of the newest step's first piece; its length where the window is empty. */
  newestIndex: number;
  /** The messages before it. */
  hidden: Message[];
  /** The memory block that leaves room for what is shown. */
  memory: Memory;
  /** Told of what is hidden and what has left the window. */
  continuity: Continuity | undefined;
}

/**
 * What is shown of the window, and how much of the memory block it leaves.
 *
 * The newest step always has a place, whole if that is possible at all: then the block gives way, by halves, and last the
 * continuity, down to one pointer line. A step that could not even stand alone beside that line is shortened, to half of
 * the window's share: wherever it stands, since the choice is between head and tail of it or nothing. Only a user message
 * that is the newest step is never shortened.
 *
 * @param pinnedTokens  What the pinned messages cost.
 * @param memory  At its full share.
 * @throws {StoreError} `BUDGET_TOO_SMALL` if pinned messages, newest step and pointer line do not fit.
 */
export function fitWindow(
  view: RenderView,
  options: RenderOptions,
  pinnedTokens: number,
  memory: Memory,
): FittedWindow {
  const { tokensMax, tokenCounter } = options;
  const gapTokens = gapTokensMax(tokenCounter);
  const isCold = coldMessageCount(view) > 0;
  const free = tokensMax - pinnedTokens;
  const told = continuityTokensMax(free, options);
  const blocks = blockSizes(memory.tokenCount, gapTokens).map((block) => ({ block, told }));
  if (told > 0) blocks.push({ block: 0, told: 0 });
  const limits = blocks.map(({ block, told }): HotLimit => {
    const cut = free - MESSAGE_TOKENS - block - told - gapTokens;
    if (block > 0) return { whole: cut + gapTokens, cut };
    return { whole: isCold ? cut : free, cut };
  });

  const steps = groupSteps(view.window, view.shortened);
  const fitted = steps.map((step, index) => {
    const isLast = index === steps.length - 1;
    const isQuestion = isLast && step.messages[0]!.role === "user";
    const room = { alone: limitAt(limits.at(-1)!, index), shortened: limits[0]!.cut / 2 };
    return fitStep(
      step,
      { open: isLast && step.messages[0]!.stepId === view.openStepId, whole: isQuestion },
      room,
      tokenCounter,
    );
  });
  const { start, level, tokenCount } = placeHotStart(
    fitted.map((step) => step.costs),
    limits,
  );

  if (tokenCount > limitAt(limits[level]!, start)) {
    const newestAlone = tokenCount + MESSAGE_TOKENS + gapTokens;
    // Nothing, or a few short messages, may cost less than the line that would stand for them.
    const before = steps.slice(0, -1).flatMap((step) => piecesOf(step, false, tokenCounter));
    const tokensLeast = isCold ? newestAlone : Math.min(newestAlone, tokenCount + tokensOfPieces(before));
    throw new StoreError("BUDGET_TOO_SMALL", { tokensMax, tokensNeeded: pinnedTokens + tokensLeast });
  }
  const shown = fitted.slice(start).map((step) => step.pieces());
  const { block, told: toldMax } = blocks[level]!;
  const hidden = steps.slice(0, start).flatMap((step) => step.messages);
  return {
    shown: shown.flat(),
    newestIndex: shown.slice(0, -1).flat().length,
    hidden,
    memory: level === 0 ? memory : buildMemory(view, block, tokenCounter),
    continuity: toldMax > 0 && (isCold || start > 0) ? options.continuity?.tell(hidden, toldMax) : undefined,
  };
}

/** Sizes of the memory block as it gives way: its own, then halves, while these are worth more than a pointer line. */
function blockSizes(tokenCount: number, gapTokens: number): number[] {
  const sizes: number[] = [];
  for (let size = tokenCount; size > 0; size = Math.floor(size / 2)) {
    if (size === tokenCount || size >= gapTokens) sizes.push(size);
  }
  return [...sizes, 0];
}

function limitAt(limit: HotLimit, start: number): number {
  return start === 0 ? limit.whole : limit.cut;
}
