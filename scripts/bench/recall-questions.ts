import type { RecallOptions } from "../../src/index.ts";
import { isStopWord } from "../../src/models/stop-words.ts";
import { randomFrom, take } from "./messages.ts";
import { projectOf, SESSIONS, sessionOf } from "./recall-store.ts";

const WORDS_MIN = 5;
const WORDS_MAX = 12;
/** Of a session, from which a question is asked: in a store of any size they are there. */
const MESSAGES = 20;

export interface BenchQuestion {
  text: string;
  options: RecallOptions;
}

/**
 * Questions in the words of a message of theirs, as people ask what they half remember: five to twelve words, of which some
 * stand in every third message and some in few. Every third asks one project, every tenth quotes two neighbors that tell.
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

/** The first two neighbors after a place of which neither is a stop word; two of the text's words where there are none. */
function phraseOf(words: readonly string[], place: number): string {
  const turned = [...words.slice(place), ...words.slice(0, place)];
  const from = turned.findIndex((word, index) => ![word, turned[index + 1] ?? "the"].some(isStopWord));
  return turned.slice(Math.max(0, from), Math.max(0, from) + 2).join(" ");
}
