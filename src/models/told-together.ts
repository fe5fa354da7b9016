import { needsNeighbors, type Told } from "./told.ts";

const QUESTION = /[?？]["'”’)\]]*$/;
/** "Can you rename it?" asks for work, and "can it be renamed?" for an answer. */
const REQUEST = /\b(?:(?:can|could|would|will|shall|should) (?:you|we|i)|please|let['’]s)\b/i;
const CAUSE = /\b(?:bugs?|cause|issue|problem)\b[^.:;]{0,40}\b(?:is|was)\b/i;
/** Words of what was done, at the beginning of a sentence or as what an agent says of itself. */
const DONE =
  /^(?:(?:add|chang|creat|implement|increas|mov|remov|renam|replac|revert|updat)ed|committed|done)\b|\b(?:the (?:fix|solution)|fixed|solved|now|so i|i(?:['’]ve| have)? (?:now |also )?\w+ed)\b/i;

/**
 * Returns the same sentences, where more are told only with another one: the answer to a question with the question, and the cause of a
 * fault and what was done about it with each other. These two are worth as much as both.
 *
 * @param told  Of one session, in order.
 */
export function toldTogether(told: readonly Told[]): Told[] {
  let question: Told | undefined;
  return told.map((one, index) => {
    const { by, messageId, text, worth, subject, isOutcome } = one;
    const [before, next] = [told[index - 1], told[index + 1]];
    const isFirst = messageId !== before?.messageId;
    if (by === "user") {
      if (isFirst) question = undefined;
      if (QUESTION.test(text) && !REQUEST.test(text) && !needsNeighbors(text)) question = one;
    }
    if (by !== "agent" || subject !== undefined) return one;
    const other = isCured(one, next) ? next : isCured(before, one) ? before : undefined;
    if (other !== undefined) return { ...one, worth: worth + other.worth, subject: other };
    // A message that begins with what was done needs no question before it.
    if (isFirst && DONE.test(text)) question = undefined;
    return isOutcome && question !== undefined ? { ...one, subject: question } : one;
  });
}

/** Returns true if a sentence tells the cause of a fault, and the next one of its message what was done about it. */
function isCured(cause: Told | undefined, next: Told | undefined): boolean {
  if (cause === undefined || cause.messageId !== next?.messageId || next.subject !== undefined) return false;
  const told = CAUSE.exec(cause.text);
  return told !== null && !DONE.test(cause.text.slice(told.index)) && DONE.test(next.text);
}
