import { bm25, stemsOf } from "./recall-baseline.ts";
import type { Corpus } from "./recall-data.ts";

/** The number of turns before and after a turn that are in its window. */
const RADIUS = 2;

/** The weights of the scores of a turn's window and of its session, each relative to the best. */
const WINDOW = 0.5;
const SESSION = 0.5;

/**
 * Makes contexts as a simple program would: turns by the sum of BM25 over the turn, over its window and over its session, each
 * relative to its best. Turns are shown whole, under one heading for each session. Every character counts, four to a token.
 *
 * @returns the ids of the turns in the context of a question: as many as fit, best first.
 */
export function coverageMix({ sessions }: Corpus): (question: string, tokensMax: number) => Set<string> {
  const turns = sessions.flatMap(({ messages }, session) => messages.map(({ id, text }) => ({ id, text, session })));
  const stems = turns.map(({ text }) => stemsOf(text));
  const windows = turns.map(({ session }, at) =>
    stems.slice(Math.max(0, at - RADIUS), at + RADIUS + 1).flatMap((own, index) => {
      const other = turns[Math.max(0, at - RADIUS) + index]!;
      return other.session === session ? own : [];
    }),
  );
  const wholes = sessions.map((_, session) => stems.flatMap((own, at) => (turns[at]!.session === session ? own : [])));
  const scorers = [bm25(stems), bm25(windows), bm25(wholes)] as const;
  const headings = sessions.map(({ messages }) => `## ${headingOf(messages[0]!.text)}\n`.length);
  return (question, tokensMax) => {
    const asked = stemsOf(question);
    const [turn, window, session] = scorers.map((score) => relative(score(asked))) as [number[], number[], number[]];
    const scores = turns.map((one, at) => turn[at]! + WINDOW * window[at]! + SESSION * session[one.session]!);
    const order = turns.map((_, at) => at).sort((left, right) => scores[right]! - scores[left]!);
    const shown = new Set<string>();
    const begun = new Set<number>();
    let charsLeft = 4 * tokensMax;
    for (const at of order) {
      const { id, text, session } = turns[at]!;
      const heading = begun.has(session) ? 0 : headings[session]!;
      const chars = heading + text.length - headingOf(text).length;
      if (chars > charsLeft) continue;
      charsLeft -= chars;
      begun.add(session);
      shown.add(id);
    }
    return shown;
  };
}

/** Returns the date at the beginning of a turn of LoCoMo. */
function headingOf(text: string): string {
  return /^.*?\d{4}/.exec(text)?.[0] ?? "";
}

function relative(scores: readonly number[]): number[] {
  const best = Math.max(...scores) || 1;
  return scores.map((score) => score / best);
}
