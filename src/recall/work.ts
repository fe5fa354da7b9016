import { promptsOf } from "./confidence.ts";
import { byScore, type Candidate, NAMED_SPEAKER, type Ranked, type ScoreParts, sumOf, timePart } from "./ranking.ts";
import { WordStatistics } from "./word-statistics.ts";
import { WORK_WEIGHTS } from "./work-weights.ts";

/** The features of a message for a question, and the part of the score that each adds to. */
const PART_OF = {
  /** The words of the message and of the prompt before it, taken as one text. */
  withPrompt: "words",
  /** The words of the prompt. */
  prompt: "neighborhood",
  /** The words of the message and the four on both sides. */
  around: "neighborhood",
  /** The best message of the session, relative to the best of all. */
  sessionBest: "session",
  /** 1 for a call or a result. */
  tool: "speaker",
  /** The logarithm of the tokens of an answer. */
  answerLength: "speaker",
  /** By how much an answer is shorter than others: most are announcements, such as "Let me run the tests". */
  shortAnswer: "speaker",
  /** By how much a prompt is shorter than others, such as "[Request interrupted by user]". */
  shortPrompt: "speaker",
} as const satisfies Record<string, keyof ScoreParts>;

type Feature = keyof typeof PART_OF;
export const WORK_FEATURES = Object.keys(PART_OF) as Feature[];

const SHORT_ANSWER_TOKENS = 60;
const SHORT_PROMPT_TOKENS = 20;

/** Returns true for messages of work with tools: if any of them is a call or the result of one. */
export function isWork(candidates: readonly Candidate[]): boolean {
  return candidates.some(({ speaker }) => speaker === "tool");
}

/**
 * Ranks messages of work with tools. Most of these are short lines, calls and what tools print. An answer often leaves out what the
 * prompt has said, so the words of the prompt count for it. The score is linear in the features, with weights that `npm run train`
 * fits, in units of the weight of `withPrompt`.
 *
 * @param candidates  Each message once, in any order, with or without words of the query.
 * @param weights  The positive weight of each word, as in `rankCandidates`.
 */
export function rankWork(candidates: readonly Candidate[], weights: readonly number[]): Ranked[] {
  const rows = workFeatures(candidates, weights);
  return candidates
    .map((candidate, at): Ranked => {
      const parts = { words: 0, neighborhood: 0, session: 0, speaker: 0, time: timePart(candidate), vector: 0 };
      if (candidate.isNamed) parts.speaker += NAMED_SPEAKER;
      WORK_FEATURES.forEach((feature, index) => {
        parts[PART_OF[feature]] += WORK_WEIGHTS[feature] * rows[at]![index]!;
      });
      return { candidate, score: sumOf(parts), parts };
    })
    .sort(byScore);
}

/** Returns the features of each candidate, in the order of `WORK_FEATURES`. */
export function workFeatures(candidates: readonly Candidate[], weights: readonly number[]): Float64Array[] {
  const words = new WordStatistics(candidates, weights);
  const prompts = promptsOf(candidates);
  return candidates.map(({ speaker, tokenCount }, at) => {
    const prompt = prompts[at];
    const features: Record<Feature, number> = {
      withPrompt: words.scoreOf(prompt === undefined ? words.window(at, 0) : words.both(at, prompt), 1.5),
      prompt: prompt === undefined ? 0 : words.scores[prompt]!,
      around: words.scoreOf(words.window(at, 4), 2),
      sessionBest: words.sessionOf(at).best / words.scoreMax,
      tool: Number(speaker === "tool"),
      answerLength: speaker === "assistant" ? Math.log1p(tokenCount) : 0,
      shortAnswer: speaker === "assistant" ? Math.max(0, Math.log(SHORT_ANSWER_TOKENS / (tokenCount + 1))) : 0,
      shortPrompt: speaker === "user" ? Math.max(0, Math.log(SHORT_PROMPT_TOKENS / (tokenCount + 1))) : 0,
    };
    return Float64Array.from(WORK_FEATURES, (feature) => features[feature]);
  });
}
