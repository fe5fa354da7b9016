import { rangesIn, type TimeRange, withoutTimes } from "../../core/named-times.ts";

/** Work, or what happened, without a word on what it was. */
const WORK =
  /^(?:do|doing|done|work(?:ed|ing)?|happen(?:ed|ing)?|going|up|accomplish(?:ed)?|achieved?|finish(?:ed)?|completed?|progress|recap|summary|summari[sz]e)$/;
/** Words around it. Any other word is what a question is about. */
const AROUND =
  /^(?:what|whats|all|everything|things|stuff|did|have|has|had|been|was|were|i|we|you|they|us|me|my|our|your|the|a|agents?|on|in|at|of|for|from|during|over|since|and|so|please|tell|give|show|to|get|got|s|ve|d)$/;
/** What is still to be done. */
const PLAN = /\bto[ -]?do\b|\bdo (?:i|we|you|they)\b/i;
const SINCE = /\bsince\b/i;

/**
 * Returns the time whose work as such a question asks for, such as "what did we work on last week?"; undefined for a question about
 * something, such as "what did we decide about the lock last week?".
 */
export function timeAsked(question: string, nowMs: number): TimeRange | undefined {
  const ranges = rangesIn(question, nowMs);
  if (ranges.length !== 1 || PLAN.test(question) || question.includes('"')) return undefined;
  const words = withoutTimes(question)
    .toLowerCase()
    .match(/[\p{L}\p{N}_./-]+/gu);
  if (words?.some((word) => WORK.test(word)) !== true) return undefined;
  if (!words.every((word) => WORK.test(word) || AROUND.test(word))) return undefined;
  const { fromMs, toMs } = ranges[0]!;
  if (fromMs > nowMs) return undefined; // what is still to come
  return { fromMs, toMs: SINCE.test(question) ? nowMs : Math.min(toMs, nowMs) };
}
