import type { RecallOptions } from "../../src/index.ts";
import { isStopWord } from "../../src/models/stop-words.ts";
import { randomFrom, take } from "./messages.ts";
import { projectOf, SESSIONS, sessionOf } from "./recall-store.ts";

const WORDS_MIN = 5;
const WORDS_MAX = 12;
/** The first messages of a session, from which questions are made. Stores of all sizes contain them. */
const MESSAGES = 20;

export interface BenchQuestion {
  text: string;
  options: RecallOptions;
}

/**
 * Returns questions in the words of a message, as people ask for what they half remember: five to twelve words, some of them
 * common and some rare. Every third question searches one project. Every tenth quotes two neighboring words.
 */
export function questions(count: number, seed: number): BenchQuestion[] {
  const random = randomFrom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  return Array.from({ length: count }, (_, index): BenchQuestion => {
    const number = below(SESSIONS);
    const said = take(sessionOf(number), MESSAGES).flatMap(({ content }) =>
      typeof content === "string" ? content : [],
    );
    const words = (said.filter((text) => text.split(" ").length >= WORDS_MIN)[below(3)] ?? said[0]!).split(" ");
    const asked = Array.from(
      { length: WORDS_MIN + below(WORDS_MAX - WORDS_MIN + 1) },
      () => words[below(words.length)]!,
    );
    if (index % 10 === 0) asked.push(`"${phraseOf(words, below(words.length))}"`);
    return { text: asked.join(" "), options: index % 3 === 0 ? { project: projectOf(number) } : {} };
  });
}

/** Returns the first two neighboring words from an index on, neither of them a stop word; else the first two words. */
function phraseOf(words: readonly string[], start: number): string {
  const turned = [...words.slice(start), ...words.slice(0, start)];
  const from = turned.findIndex((word, index) => ![word, turned[index + 1] ?? "the"].some((near) => isStopWord(near)));
  return turned.slice(Math.max(0, from), Math.max(0, from) + 2).join(" ");
}
