import { isRemembered } from "../core/verdicts.ts";
import { saysNothing } from "../models/told.ts";
import { promptsOf } from "./confidence.ts";
import {
  byScore,
  type Candidate,
  NAMED_SPEAKER,
  type Ranked,
  raised,
  type ScoreParts,
  sumOf,
  timePart,
} from "./ranking.ts";
import type { Source } from "./source.ts";
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

/**
 * The fitted features count a quarter of the message's own words. They were fitted to one project, whose agent tells what it does, and
 * other agents do not. This share, and those below, were chosen on 102 questions about six projects.
 */
export const FITTED_SHARE = 0.25;
export const WORK_VECTOR_WEIGHT = FITTED_SHARE * WORK_WEIGHTS.similarity;

/** By how much the logarithm of the odds that a message answers rises with a score that is higher by 1. */
export const WORK_ODDS = 13;

/** What a message that says nothing loses, and what is gained by the kind of message that a question asks for. */
const NOTHING_LOSS = 0.3;
const USER_GAIN = 0.3;
const VALUE_GAIN = 0.05;
/**
 * The closing words of a turn gain this, because they tell what came of the prompt. Short lines gain nothing, nor do those with few of the
 * words asked for.
 */
const CLOSING_GAIN = 0.1;
const CLOSING_TOKENS_MIN = 40;
/** Relative to the message with most of the words. */
const CLOSING_WORDS_MIN = 0.5;
/** They are looked for among so many of the best messages. */
const CLOSING_PLACES_MAX = 30;

/** At most this many of the best short messages are read, because a longer one says more than an announcement. */
const READ_MAX = 200;
const SHORT_TOKENS_MAX = 100;

const ASKS_FOR_USER =
  /\bdid I\b|\bI (?:say|said|ask|asked|want|wanted|complain|suggest|propose|answer|tell|told)\b|\b(?:to|about) me\b|\bI think\b|私/;
const ASKS_FOR_VALUE =
  /\b(?:error|fail\w*|number|how (?:many|much|large|long)|version|value|port|which|name|called|when|where|command|option|exit|refused|print\w*)\b|エラー|文言/i;

type Feature = keyof typeof PART_OF;
export const WORK_FEATURES = Object.keys(PART_OF) as Feature[];

const SHORT_ANSWER_TOKENS = 60;
const SHORT_PROMPT_TOKENS = 20;

/** Returns true for messages of work with tools: if any of them is a call or the result of one. */
export function isWork(candidates: readonly Candidate[]): boolean {
  return candidates.some(({ speaker }) => speaker === "tool");
}

/** The weights of a name that some message has, and of each of its pieces, relative to a word. Together they count about as one. */
const NAME_WEIGHT = 0.5;
const PIECE_WEIGHT = 1 / 3;

/** Returns the words of messages of work with tools, which are full of names. @param weights  As in `rankCandidates`. */
export function wordsOfWork(
  candidates: readonly Candidate[],
  weights: readonly number[],
  terms: readonly { stem: string; pieceOf?: string }[],
): WordStatistics {
  const searched = new Set(terms.map(({ stem }) => stem));
  const divided = new Set(terms.map(({ pieceOf }) => pieceOf));
  const factors = terms.map(({ stem, pieceOf }) => {
    if (pieceOf !== undefined && searched.has(pieceOf)) return PIECE_WEIGHT;
    return divided.has(stem) ? NAME_WEIGHT : 1;
  });
  const weighed = (scores: readonly number[]): number[] => scores.map((score, word) => score * factors[word]!);
  return new WordStatistics(
    candidates.map((candidate) => ({ ...candidate, wordScores: weighed(candidate.wordScores) })),
    weighed(weights),
  );
}

/**
 * Ranks messages of work with tools by their own words and, with less weight, by features. Most of these messages are short lines, calls and
 * what tools print. An answer often leaves out what the prompt has said, so the words of the prompt count for it. The weights of the
 * features are those that `npm run train` fits, in units of the weight of `withPrompt`.
 *
 * @param candidates  Each message once, in any order, with or without words of the query.
 */
export function rankWork(candidates: readonly Candidate[], words: WordStatistics): Ranked[] {
  const rows = workFeatures(candidates, words);
  return candidates
    .map((candidate, at): Ranked => {
      const parts = {
        words: words.scores[at]!,
        neighborhood: 0,
        session: 0,
        speaker: 0,
        time: timePart(candidate),
        vector: 0,
      };
      if (candidate.isNamed) parts.speaker += NAMED_SPEAKER;
      // Somebody wanted it to be found, so it counts as the words of a user do in conversations.
      if (isRemembered(candidate.sessionId)) parts.speaker += parts.words;
      WORK_FEATURES.forEach((feature, index) => {
        parts[PART_OF[feature]] += FITTED_SHARE * WORK_WEIGHTS[feature] * rows[at]![index]!;
      });
      return { candidate, score: sumOf(parts), parts };
    })
    .sort(byScore);
}

/**
 * Raises the user's own words for a question about what the user said, calls and results for one about a value, a name or an error, and,
 * unless the question is about the user, the closing words of turns. Lowers announcements and notices.
 *
 * @param ranking  Best first.
 * @returns the same messages, best first.
 */
export function raiseForWork(
  ranking: readonly Ranked[],
  question: string,
  { textsOf, closing }: Pick<Source, "textsOf" | "closing">,
): Ranked[] {
  const isAboutUser = ASKS_FOR_USER.test(question);
  const gains = {
    user: isAboutUser ? USER_GAIN : 0,
    tool: ASKS_FOR_VALUE.test(question) ? VALUE_GAIN : 0,
    assistant: 0,
    system: 0,
  };
  const short = ranking.filter(({ candidate: { speaker, tokenCount } }) => {
    return (speaker === "assistant" || speaker === "user") && tokenCount < SHORT_TOKENS_MAX;
  });
  const texts = textsOf(short.slice(0, READ_MAX).map(({ candidate }) => candidate.messageId));
  const wordsMax = ranking.reduce((most, { parts }) => Math.max(most, parts.words), 0);
  const told = ranking.slice(0, CLOSING_PLACES_MAX).filter(({ candidate: { speaker, tokenCount }, parts }) => {
    if (isAboutUser || speaker !== "assistant" || tokenCount < CLOSING_TOKENS_MIN) return false;
    return parts.words > 0 && parts.words >= CLOSING_WORDS_MIN * wordsMax;
  });
  const closings = closing(told.map(({ candidate }) => candidate.messageId));
  return ranking
    .map((ranked) => {
      const { messageId, sessionId, speaker } = ranked.candidate;
      const text = texts.get(messageId);
      const isSaid = text !== undefined && !isRemembered(sessionId);
      const isEmpty = isSaid && saysNothing(speaker === "user" ? "user" : "agent", text);
      const gain = gains[speaker] + (closings.has(messageId) ? CLOSING_GAIN : 0) - (isEmpty ? NOTHING_LOSS : 0);
      return gain === 0 ? ranked : raised(ranked, gain);
    })
    .sort(byScore);
}

/** Returns the features of each candidate, in the order of `WORK_FEATURES`. */
export function workFeatures(candidates: readonly Candidate[], words: WordStatistics): Float64Array[] {
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
