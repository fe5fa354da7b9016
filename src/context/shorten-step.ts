import type { Message, Part } from "../core/message.ts";
import { messageTokens, type TokenCounter } from "../core/tokens.ts";
import { tokenSum } from "./costs.ts";
import { shortenPart, shortenToolPart } from "./shorten-part.ts";
import { renderStep, type Step } from "./steps.ts";

/** Fewest characters that a shortened text keeps, marker included: about a line of head and a line of tail. */
const CHARS_MIN = 240;

/** If a limit was too high, the next one is at most this share of it. So at most a tenth of the room is wasted. */
const CHARS_RATIO = 0.9;

/**
 * Shortens a step to `tokensMax`. Its messages, calls and results stay, but their long texts are cut. All texts get the same
 * limit, so short ones stay whole.
 *
 * A step with an open call is measured as if it were closed, so that closing it does not change it.
 *
 * @returns the longest form that was found to fit, or the shortest form if none fits.
 */
export function shortenStep(step: Step, tokensMax: number, tokenCounter: TokenCounter): Step {
  const shortenTo = (charsMax: number): Step => {
    const shortened = new Set(step.shortened);
    const messages = step.messages.map((message) => {
      const shorter = withParts(message, (part) => shortenPart(part, charsMax, `message ${message.id}`), tokenCounter);
      if (shorter !== message) shortened.add(message.id);
      return shorter;
    });
    return { messages, shortened };
  };
  return longestWithin(tokensMax, shortenTo, (shorter) => tokenSum(renderStep(shorter, false, tokenCounter)));
}

/**
 * Cuts the results and arguments of a message to `tokensMax`, or to their shortest form if that costs more. Other parts stay.
 * Returns the same message if it costs at most `tokensMax`.
 */
export function shortenToolMessage(message: Message, tokensMax: number, tokenCounter: TokenCounter): Message {
  if (message.tokenCount <= tokensMax) return message;
  const shortenTo = (charsMax: number): Message =>
    withParts(message, (part) => shortenToolPart(part, charsMax, `message ${message.id}`), tokenCounter);
  return longestWithin(tokensMax, shortenTo, ({ tokenCount }) => tokenCount);
}

function longestWithin<T>(tokensMax: number, shortenTo: (charsMax: number) => T, tokensOf: (value: T) => number): T {
  let charsMax = Math.max(CHARS_MIN, tokensMax * 4);
  for (;;) {
    const candidate = shortenTo(charsMax);
    const tokenCount = tokensOf(candidate);
    if (charsMax === CHARS_MIN || tokenCount <= tokensMax) return candidate;
    // Short texts stop growing as the limit grows, so the cost is concave in the limit. Lowering the limit in proportion
    // therefore does not overshoot, and a hundred long results take three tries instead of thirty.
    charsMax = Math.max(CHARS_MIN, Math.floor(charsMax * Math.min(CHARS_RATIO, tokensMax / tokenCount)));
  }
}

/** Returns the same message if no part changes. */
function withParts(message: Message, change: (part: Part) => Part, tokenCounter: TokenCounter): Message {
  const parts = message.parts.map(change);
  if (parts.every((part, index) => part === message.parts[index])) return message;
  return { ...message, parts, tokenCount: messageTokens({ ...message, parts }, tokenCounter) };
}
