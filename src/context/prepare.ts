import type { TokenCounter } from "../core/tokens.ts";
import { acceptableMessages } from "./acceptable.ts";
import { tokenSum } from "./costs.ts";
import type { ContextMessage } from "./result.ts";
import { groupSteps, type PricedMessage, priced, renderStep, type Step } from "./steps.ts";
import type { RenderView } from "./view.ts";

/** A view whose messages every provider accepts, with values that several stages of a render need. */
export interface PreparedView extends RenderView {
  /** The messages before the memory block and the window. */
  pinnedMessages: readonly PricedMessage[];
  pinnedTokens: number;
  /** The number of messages that are neither pinned nor in the window. */
  coldCount: number;
  /** The steps of the window. */
  steps: readonly Step[];
}

/** Anthropic and Gemini refuse a conversation in which the assistant speaks first. */
const OPENING: ContextMessage = {
  role: "user",
  parts: [{ type: "text", text: "[This conversation begins with the assistant.]" }],
};

/** Computes the values that do not depend on the budget, once for each render. */
export function prepareView(stored: RenderView, tokenCounter: TokenCounter): PreparedView {
  const view = { ...stored, ...acceptableMessages(stored, tokenCounter) };
  const coldCount = view.messageCount - view.pinned.length - view.window.length;
  const steps = groupSteps(view.window, view.shortened);

  const pinned = groupSteps(view.pinned).flatMap((step) => renderStep(step, false, tokenCounter));
  const firstIndex = pinned.findIndex(({ message }) => message.role !== "system");
  // Without pinned messages, the memory block comes first and has the user's role, unless nothing is cold.
  const first = pinned[firstIndex]?.message ?? (coldCount === 0 ? view.window[0] : undefined);
  const pinnedMessages =
    first?.role === "assistant"
      ? pinned.toSpliced(firstIndex === -1 ? pinned.length : firstIndex, 0, priced(OPENING, tokenCounter))
      : pinned;
  return { ...view, coldCount, steps, pinnedMessages, pinnedTokens: tokenSum(pinnedMessages) };
}
