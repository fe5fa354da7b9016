import type { TokenCounter } from "../core/tokens.ts";
import { shortenStep } from "./shorten-step.ts";
import { type Piece, piecesOf, type Step, tokensOfPieces } from "./steps.ts";

/** A step of the window, priced before it is known whether it will be shown. */
export interface FittedStep {
  /** Tokens, message by message; of a shortened step the one sum that it may cost. */
  costs: readonly number[];
  /** Built on demand: shortening a step takes milliseconds, and many are hidden. */
  pieces: () => Piece[];
}

export interface StepRoom {
  /** Most tokens that a step shown alone may cost. A step that costs more is shortened. */
  alone: number;
  /** What a shortened step may cost, if its shortest form does not cost more. */
  shortened: number;
}

/**
 * A step as it is if it can ever be shown like that, else its price when shortened.
 *
 * An open step must fit as it will be if its calls are never answered: closing it must not change what is shown of it.
 */
export function fitStep(
  step: Step,
  { open, whole }: { open: boolean; whole: boolean },
  room: StepRoom,
  tokenCounter: TokenCounter,
): FittedStep {
  const pieces = piecesOf(step, open, tokenCounter);
  const asIs = { costs: pieces.map((piece) => piece.tokenCount), pieces: () => pieces };
  const closedTokens = tokensOfPieces(open ? piecesOf(step, false, tokenCounter) : pieces);
  if (whole || closedTokens <= room.alone) return asIs;
  const shortest = shortenStep(step, 0, tokenCounter);
  const shortestTokens = tokensOfPieces(piecesOf(shortest, false, tokenCounter));
  if (shortestTokens >= closedTokens) return asIs; // markers cost something too
  const cost = Math.max(shortestTokens, Math.floor(room.shortened));
  return { costs: [cost], pieces: () => piecesOf(shortenStep(step, cost, tokenCounter), open, tokenCounter) };
}
