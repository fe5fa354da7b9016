import { messageTokens, type TokenCounter } from "../core/tokens.ts";
import { coldMessageCount } from "./cold.ts";
import type { ContextMessage } from "./result.ts";
import { groupSteps, type Piece, piecesOf } from "./steps.ts";
import type { RenderView } from "./view.ts";

/** Anthropic and Gemini refuse a conversation that begins with the model. */
const OPENING: ContextMessage = {
  role: "user",
  parts: [{ type: "text", text: "[This conversation begins with the assistant.]" }],
};

/**
 * What stands before the memory block and the window: system messages and those the caller pinned, and where the first
 * message after the system's would be the assistant's, a line of the user's role before it.
 *
 * @param view  Acceptable: see `acceptableView`.
 */
export function pinnedPieces(view: RenderView, tokenCounter: TokenCounter): Piece[] {
  const pinned = groupSteps(view.pinned).flatMap((step) => piecesOf(step, false, tokenCounter));
  const start = pinned.findIndex(({ message }) => message.role !== "system");
  // The memory block, which stands for what is cold, has the user's role. A result without its call gets that, too.
  const first = start === -1 ? (coldMessageCount(view) === 0 ? view.window[0] : undefined) : pinned[start]!.message;
  if (first?.role !== "assistant") return pinned;
  const opening = { message: OPENING, tokenCount: messageTokens(OPENING, tokenCounter), source: undefined };
  return pinned.toSpliced(start === -1 ? pinned.length : start, 0, opening);
}
