import { byScore, type Ranked, raised } from "./ranking.ts";
import type { Source } from "./source.ts";

/** At most this many messages of users are read for wishes, best first. */
const READ_MAX = 200;

/** Only the beginning of a long text is read. */
const READ_CHARS = 2_000;

/** The words of a wish count twice as much as those of other messages of users, which count twice themselves. */
const WISH_GAIN = 2;

/** An answer scores this much lower than the message that it answers. */
const ANSWER_LOSS = 0.02;

const ADVICE =
  /\b(?:can|could|should|would) (?:I|we|you)\b|\b(?:I|we) (?:can|could|should)\b|\b(?:help|show|tell|give) me\b|\b(?:suggest|recommend|please)\b/i;
const PAST =
  /\b(?:did|have|has|had|was|were|been|said|told|decided|remind|remember|mention(?:ed)?|discuss(?:ed|ions?)?|talked|brought|conversations?|chats?|summar\w+)\b|['’]ve\b/i;

const INSTRUCTION =
  /(?:^|[.!?\n]\s*)(?:please,? )?(?:always|never)\b(?! mind)|\bplease (?:always|never)\b|\bfrom now on\b/i;
const PREFERENCE =
  /\bI(?:['’]d| would)? (?:really |usually |generally |always |much )?(?:prefer|rather)\b|\bmy preference|\bfavou?rite\b/i;

const ANSWER =
  /\b(?:did|have|had) you\b|\byou (?:said|told|gave|recommended|suggested|advised|proposed|mentioned|explained|helped|showed)\b|\byour (?:answer|advice|recommendation|suggestion)s?\b/i;
const SUMMARY = /\bsummar(?:y|ies|i[sz]ed?)\b|\boverview\b|\brecap\b|\bsum up\b/i;

/** Returns true for "how should I test this?", and false for a question about what was said or done. */
export function asksForAdvice(question: string): boolean {
  return ADVICE.test(question) && !PAST.test(question);
}

/** Returns true for "always answer in German" and "I prefer tabs", by which a user says how things should be done. */
export function isWish(text: string): boolean {
  const beginning = text.slice(0, READ_CHARS);
  return INSTRUCTION.test(beginning) || PREFERENCE.test(beginning);
}

/** Returns true for "what did you recommend?" and for a question for a summary. */
export function asksForAnswers(question: string): boolean {
  return ANSWER.test(question) || SUMMARY.test(question);
}

/**
 * Raises what a question to an assistant needs besides its subject. A question for advice needs the wishes of users. A question
 * for what an assistant said needs the answers right after the messages that match, because an answer is long and its words
 * are common.
 *
 * @param ranking  Best first, as `rankCandidates` returns it.
 * @returns the same messages, best first.
 */
export function raiseForQuestion(ranking: Ranked[], question: string, textsOf: Source["textsOf"]): Ranked[] {
  let ordered = ranking;
  if (asksForAdvice(question)) ordered = withWishes(ordered, textsOf).sort(byScore);
  if (asksForAnswers(question)) ordered = withAnswers(ordered).sort(byScore);
  return ordered;
}

function withWishes(ranking: readonly Ranked[], textsOf: Source["textsOf"]): Ranked[] {
  const ofUsers = ranking.filter(({ candidate }) => candidate.speaker === "user").slice(0, READ_MAX);
  const texts = textsOf(ofUsers.map(({ candidate }) => candidate.messageId));
  return ranking.map((ranked) => {
    const text = texts.get(ranked.candidate.messageId);
    if (text === undefined || !isWish(text)) return ranked;
    return raised(ranked, WISH_GAIN * (ranked.parts.words + ranked.parts.neighborhood));
  });
}

function withAnswers(ranking: readonly Ranked[]): Ranked[] {
  const ofUsers = ranking.filter(({ candidate }) => candidate.speaker === "user");
  const scores = new Map(ofUsers.map(({ candidate: { sessionId, seq }, score }) => [`${seq} ${sessionId}`, score]));
  return ranking.map((ranked) => {
    const { speaker, sessionId, seq } = ranked.candidate;
    const asked = speaker === "assistant" ? scores.get(`${seq - 1} ${sessionId}`) : undefined;
    return asked === undefined ? ranked : raised(ranked, Math.max(0, asked - ANSWER_LOSS - ranked.score));
  });
}
