import { withoutRelativeTimes } from "../core/named-times.ts";
import { isStopWord } from "../models/stop-words.ts";
import { byScore, type Ranked } from "./ranking.ts";
import type { Source } from "./source.ts";

/** At most this many messages are read for numbered names, best first. */
const READ_MAX = 200;

/** A pasted log names thousands. */
const NAMES_MAX = 16;

/** Words before a count, as in "the last 3 days". */
const COUNTING = new Set(["first", "last", "next", "past", "previous"]);

/** A word and a single digit, as in "step 3" and "service #3". Numbers of more digits are words in the index. */
const NUMBERED = /(?<![\p{L}\p{N}])(\p{L}{2,40})\s+#?(\d)(?![\p{L}\p{N}]|[.,:]\p{N})/gu;

/** Returns patterns of the numbered names in a question: each once, at most 16. */
export function numberedNames(question: string): RegExp[] {
  const names = new Map<string, RegExp>();
  for (const [, word, digit] of withoutRelativeTimes(question).matchAll(NUMBERED)) {
    if (isStopWord(word!.toLowerCase()) || COUNTING.has(word!.toLowerCase())) continue;
    // White space is matched in one way only: two adjacent `\s*` would take quadratic time on a column of spaces.
    const pattern = `(?<!\\p{L})${word}[\\s_-]*(?:[#=:]\\s*)?${digit}(?!\\p{N})`;
    if (!names.has(pattern)) names.set(pattern, new RegExp(pattern, "iu"));
    if (names.size === NAMES_MAX) break;
  }
  return [...names.values()];
}

/**
 * Raises the messages that have the numbered names of a question. The index has no single digits, so these count here, each like
 * a word of the question.
 *
 * @param ranking  Best first.
 * @param wordCount  The words of the question that the index has.
 * @returns the same messages, best first.
 */
export function raiseNumbered(
  ranking: Ranked[],
  question: string,
  wordCount: number,
  textsOf: Source["textsOf"],
): Ranked[] {
  const names = numberedNames(question);
  if (names.length === 0) return ranking;
  const texts = textsOf(ranking.slice(0, READ_MAX).map(({ candidate }) => candidate.messageId));
  const gain = 1 / (wordCount + names.length);
  return ranking
    .map((ranked) => {
      const text = texts.get(ranked.candidate.messageId) ?? "";
      const raise = gain * names.filter((name) => name.test(text)).length;
      const parts = { ...ranked.parts, words: ranked.parts.words + raise };
      return raise === 0 ? ranked : { candidate: ranked.candidate, score: ranked.score + raise, parts };
    })
    .sort(byScore);
}
