import type { MessageInput } from "../../src/index.ts";
import { randomFrom, realLength } from "./messages.ts";

/** Different words, in order of how often they are said: Zipf's law over as many as a large project's texts have. */
const VOCABULARY = 40_000;
/** Words that stand between others in any text; the embedder leaves the likes of them out. */
const FILLERS = "the a of to and in is it that for with as on be this was at by not are we you from or an".split(" ");

/** Of a word in these texts, with the space after it. */
const WORD_CHARS = 5.5;

/** Subjects that sessions of one store talk about, in order of how often. */
const SUBJECTS = 6_000;
const SUBJECT_WORDS = 60;
const SUBJECTS_OF_SESSION = 120;

/**
 * Conversations of one store, each without end: turns about subjects that come back, in other sessions too, each with
 * words of its own among those that everybody uses. What a session's subjects are is drawn from its seed; what a subject's
 * words are is the same in all of them.
 *
 * Where `sessionMessages` gives one session, this gives what clusters of a large store look like beside each other:
 * thousands of subjects, near and far, and none of them drawn from a cloud around a point. With real lengths, words are in
 * as large a share of the messages as in a project's coding sessions, rank for rank: the tenth in a quarter, the hundredth in
 * 6 %, the thousandth in 0.7 %.
 *
 * @param options.length  Of texts: `short`, some dozens of words; or `real`, as `sessionMessages` has them.
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

/** Some words of a subject are everybody's, most are rare. */
function subjectWord(subject: number, index: number): number {
  const random = randomFrom(subject * SUBJECT_WORDS + index);
  return Math.floor(VOCABULARY ** (0.4 + 0.6 * random())) - 1;
}

function wordOf(index: number): string {
  return `${((index * 2654435761) >>> 0).toString(36).replace(/\d/g, (digit) => "aeiouaeiou"[Number(digit)]!)}`;
}
