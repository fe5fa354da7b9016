import type { Candidate } from "./ranking.ts";

/**
 * If a message has this share of the query, it answers one time in two, and the odds rise with the share. Fitted to 335 questions about
 * coding sessions and 60 about other projects.
 */
const EVEN_SHARE = 0.48;
const STEEPNESS = 12;

/** Hits with a smaller confidence are probably about something else. */
export const CONFIDENCE_MIN = 0.5;

/** If nothing is near, so many hits are enough to see it, unless the caller asks for more. */
export const DOUBTED_MAX = 3;

/**
 * Returns the probability that some message answers, in [0, 1], by how much of the query's words the best message has, together with
 * what the user said before it.
 *
 * @param weights  The weight of each word of the query that messages have.
 * @param wanted  The weight of all words, with those that no message has.
 */
export function confidenceOf(candidates: readonly Candidate[], weights: readonly number[], wanted: number): number {
  const prompts = promptsOf(candidates);
  const shares = candidates.map(({ wordScores }, at) => {
    const before = prompts[at] === undefined ? wordScores : candidates[prompts[at]!]!.wordScores;
    const held = weights.reduce((sum, weight, word) => {
      return wordScores[word]! > 0 || before[word]! > 0 ? sum + weight : sum;
    }, 0);
    return held / wanted;
  });
  const most = shares.reduce((left, right) => Math.max(left, right), 0);
  return 1 / (1 + Math.exp(-STEEPNESS * (most - EVEN_SHARE)));
}

/** Returns for each message the index of the last message of the user before it in its session. */
export function promptsOf(candidates: readonly Candidate[]): (number | undefined)[] {
  const inOrder = candidates.map((_, at) => at).sort((left, right) => candidates[left]!.seq - candidates[right]!.seq);
  const last = new Map<string, number>();
  const prompts: (number | undefined)[] = candidates.map(() => undefined);
  for (const at of inOrder) {
    const { sessionId, speaker } = candidates[at]!;
    prompts[at] = last.get(sessionId);
    if (speaker === "user") last.set(sessionId, at);
  }
  return prompts;
}
