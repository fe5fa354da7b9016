import type { MessageInput } from "../../src/index.ts";

/** Returns a generator of pseudo-random numbers in [0, 1) that depend only on the seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const LENGTH_MEDIAN = 600;
/** The deviation of the logarithm: one message in about 400 has more than 20,000 characters. */
const LENGTH_SIGMA = 1.25;
const LENGTH_MAX = 60_000;
const VOCABULARY = 4_000;
const SUBJECT_WORDS = 40;

/** Draws the length of a message of a coding agent's session: log-normal, with a median of 600 characters. */
export function realLength(random: () => number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return Math.min(LENGTH_MAX, Math.max(3, Math.round(LENGTH_MEDIAN * Math.exp(LENGTH_SIGMA * normal))));
}

/**
 * Yields the messages of an endless session of a coding agent: turns of a question, some calls with their results, and an
 * answer. Lengths are log-normal with a median of 600 characters. Words follow Zipf's law. Each turn is about one subject,
 * which has its own words and recurs in later turns.
 */
export function* sessionMessages(seed: number): Generator<MessageInput> {
  const random = randomFrom(seed);
  const pick = (count: number): number => Math.floor(random() * count);
  const zipf = (count: number): number => Math.floor(count ** random()) - 1;
  const wordOf = (index: number): string => {
    const word = ((index * 2654435761) >>> 0).toString(36).replace(/\d/g, "a");
    return index % 17 === 0 ? `src/${word}/${word}.ts` : index % 11 === 0 ? `${word}Of${word.slice(0, 3)}` : word;
  };
  const textOf = (subject: number): string => {
    const length = realLength(random);
    let text = "";
    while (text.length < length) {
      const index = random() < 0.3 ? VOCABULARY + subject * SUBJECT_WORDS + zipf(SUBJECT_WORDS) : zipf(VOCABULARY);
      text += `${wordOf(index)}${random() < 0.1 ? ".\n" : " "}`;
    }
    return text.slice(0, length);
  };
  for (let call = 0; ; ) {
    const subject = pick(50);
    yield { role: "user", content: textOf(subject) };
    for (let calls = pick(6); calls > 0; calls--) {
      const toolCallId = `call_${call++}`;
      const path = wordOf(17 * pick(200));
      yield {
        role: "assistant",
        parts: [
          { type: "text", text: textOf(subject).slice(0, 300) },
          { type: "tool_call", toolCallId, name: "read_file", args: { path } },
        ],
      };
      yield { role: "tool", parts: [{ type: "tool_result", toolCallId, content: textOf(subject) }] };
    }
    yield { role: "assistant", content: textOf(subject) };
  }
}

export function take<T>(items: Iterator<T>, count: number): T[] {
  return Array.from({ length: count }, () => items.next().value as T);
}

/** Returns the value below which the given share of the values is. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => quantile(values, 0.5);
