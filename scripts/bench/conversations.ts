import type { MessageInput } from "../../src/index.ts";
import { randomFrom, realLength } from "./messages.ts";

/** The number of different words, which follow Zipf's law. The texts of a large project have as many. */
const VOCABULARY = 40_000;
/** Function words, which occur in every text. The embedder ignores such words. */
const FILLERS = "the a of to and in is it that for with as on be this was at by not are we you from or an".split(" ");

/** The mean length of a word in these texts, with the space after it. */
const WORD_CHARS = 5.5;

/** The number of subjects in the sessions of one store. */
const SUBJECTS = 6_000;
const SUBJECT_WORDS = 60;
const SUBJECTS_OF_SESSION = 120;

/**
 * Yields the endless conversation of one session of a store. Its turns are about subjects that recur, in other sessions too.
 * Each subject has its own words, which are the same in all sessions, among common words. The seed decides the subjects of the
 * session.
 *
 * `sessionMessages` resembles one session. This resembles the clusters of a large store: thousands of subjects, near and far,
 * not drawn around center points. With real lengths, a word of some rank is in the same share of messages as in the coding
 * sessions of a project: the tenth in a quarter, the hundredth in 6 %, the thousandth in 0.7 %.
 *
 * @param options.length  The length of texts: `short` for some dozens of words, `real` for the lengths of `sessionMessages`.
 */
export function* conversation(
  seed: number,
  { length = "short" }: { length?: "short" | "real" } = {},
): Generator<MessageInput> {
  const random = randomFrom(seed);
  const zipf = (count: number): number => Math.floor(count ** random()) - 1;
  const subjects = Array.from({ length: SUBJECTS_OF_SESSION }, () => zipf(SUBJECTS));
  const textOf = (subject: number, wordCount: number): string => {
    const words: string[] = [];
    while (words.length < wordCount) {
      const draw = random();
      if (draw < 0.4) words.push(FILLERS[zipf(FILLERS.length)]!);
      else words.push(wordOf(draw < 0.7 ? subjectWord(subject, zipf(SUBJECT_WORDS)) : zipf(VOCABULARY)));
    }
    return words.join(" ");
  };
  const wordCountOf = (least: number, range: number): number =>
    length === "short" ? least + zipf(range) : Math.ceil(realLength(random) / WORD_CHARS);
  for (let call = 0; ; ) {
    const subject = subjects[zipf(subjects.length)]!;
    for (let exchanges = 1 + Math.floor(3 * random()); exchanges > 0; exchanges--) {
      yield { role: "user", content: textOf(subject, wordCountOf(8, 60)) };
      for (let calls = Math.floor(3 * random()); calls > 0; calls--) {
        const toolCallId = `call_${call++}`;
        const path = `${wordOf(subjectWord(subject, zipf(SUBJECT_WORDS)))}.ts`;
        yield { role: "assistant", parts: [{ type: "tool_call", toolCallId, name: "read_file", args: { path } }] };
        yield {
          role: "tool",
          parts: [{ type: "tool_result", toolCallId, content: textOf(subject, wordCountOf(20, 200)) }],
        };
      }
      yield { role: "assistant", content: textOf(subject, wordCountOf(15, 120)) };
    }
  }
}

/** Returns a word of a subject. Some are common to all subjects, and most are rare. */
function subjectWord(subject: number, index: number): number {
  const random = randomFrom(subject * SUBJECT_WORDS + index);
  return Math.floor(VOCABULARY ** (0.4 + 0.6 * random())) - 1;
}

function wordOf(index: number): string {
  return `${((index * 2654435761) >>> 0).toString(36).replace(/\d/g, (digit) => "aeiouaeiou"[Number(digit)]!)}`;
}
