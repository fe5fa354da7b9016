import type { Message, Part } from "../core/message.ts";
import { messageTokens, type TokenCounter } from "../core/tokens.ts";
import { shortenPart, shortenToolPart } from "./shorten-part.ts";
import { piecesOf, type Step, tokensOfPieces } from "./steps.ts";

/** Least characters that a shortened text keeps, marker included: a line of head, a line of tail. */
const CHARS_MIN = 240;

/** The next limit to try is at most this share of one that was too much. Costs at most a tenth of the room. */
const CHARS_RATIO = 0.9;

/**
 * A step cut down to `tokensMax`: the same messages, calls and results, with what matters of whatever is long.
 *
 * Every string gets the same limit, so the small ones stay whole and the large ones pay.
 *
 * A step whose results are still to come is measured as if it were closed, so that its closing does not change it.
 *
 * @returns the longest form that was found to fit, or the shortest there is if none does.
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
  return longestWithin(tokensMax, shortenTo, (shorter) => tokensOfPieces(piecesOf(shorter, false, tokenCounter)));
}

/**
 * A message whose results and arguments are cut down so that it costs `tokensMax`, or the least it can; the message itself
 * where it costs no more. What was said, reasoning and files stay.
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
    // The cost is concave in the limit (strings that are short enough stop growing), so going down in proportion to
    // what was too much does not overshoot: with a hundred long results, three tries instead of thirty.
    charsMax = Math.max(CHARS_MIN, Math.floor(charsMax * Math.min(CHARS_RATIO, tokensMax / tokenCount)));
  }
}

/** The message itself where no part changes. */
function withParts(message: Message, change: (part: Part) => Part, tokenCounter: TokenCounter): Message {
  const parts = message.parts.map(change);
  if (parts.every((part, index) => part === message.parts[index])) return message;
  return { ...message, parts, tokenCount: messageTokens({ ...message, parts }, tokenCounter) };
}
