import type { Role } from "../core/message.ts";
import { SATURATION_MAX, saturate, unsaturate } from "./bm25.ts";

/** A neighborhood is a message with this many messages before and after it. */
export const NEIGHBORHOOD_RADIUS = 2;

/** The assumed length of a neighborhood, in messages of mean length. */
const NEIGHBORHOOD_LENGTH = 1.5;

/**
 * The weight of each part of a score, relative to the words of the message. Chosen on LoCoMo, BEAM and coding sessions. If one
 * weight changes by a third, no measure changes by more than two points.
 */
const WEIGHTS = { neighborhood: 0.6, session: 0.4, time: 0.5, near: 1 };

/** The weight of the cosine of a lexical embedder. */
export const VECTOR_WEIGHT = 0.2;

/** By how much the logarithm of the odds that a message answers rises with a score that is higher by 1. Fitted to BEAM. */
export const ODDS = 4;

/**
 * `factor` multiplies the score of the words of a message and its neighborhood, because people state facts and wishes, while
 * tools print. `perLength` times the logarithm of the tokens is subtracted, because a short statement is more to the point.
 */
const SPEAKERS: Record<Role, { factor: number; perLength: number }> = {
  user: { factor: 2, perLength: 0.03 },
  assistant: { factor: 1.6, perLength: 0.09 },
  system: { factor: 1.6, perLength: 0.09 },
  tool: { factor: 1, perLength: 0.05 },
};

export const NAMED_SPEAKER = 0.5;

export interface Candidate {
  messageId: number;
  sessionId: string;
  seq: number;
  /** The name of a person, who is a user with a name. */
  name: string | null;
  createdAtMs: number;
  /** The role; `tool` for a message in which an assistant only calls tools. */
  speaker: Role;
  tokenCount: number;
  /** The BM25 score of each word of the query in this message; 0 for a word that does not occur. */
  wordScores: readonly number[];
  /** True if the query names the speaker. */
  isNamed: boolean;
  datedness: number;
  /** How near the message is to a time that the caller or the query names, in [0, 1]. */
  closeness: number;
  /** True for a message that its session has superseded. */
  superseded?: true;
}

/** The score is the sum of these parts. */
export interface ScoreParts {
  /** The query's words in the message: BM25, as a share of the highest possible score. */
  words: number;
  /** The query's words in the message and its neighbors, taken as one text. */
  neighborhood: number;
  /** The query's words in the whole session, relative to the best session. */
  session: number;
  /** Who speaks, and how briefly; and whether the message is what the question asks an assistant for. */
  speaker: number;
  /** How exactly the query names the time of the message, and how near it is to a time that the caller or the query names. */
  time: number;
  /** What the vectors tell. 0 without vectors. */
  vector: number;
}

export interface Ranked {
  candidate: Candidate;
  score: number;
  parts: ScoreParts;
}

/** A message in a finished ranking. */
export interface Placed extends Ranked {
  /** The odds that it answers, relative to those of the best message in its ranking, in [0, 1]. */
  worth: number;
}

/**
 * Orders candidates by score, best first, then newest first.
 *
 * An answer often shares few words with the question but is near a message that shares many. So the words of the neighbors and
 * of the session count too. Their scores are converted to frequencies, summed and saturated as one text, so that a word of
 * several neighbors counts once. See Callan, "Passage-level evidence in document retrieval", SIGIR 1994.
 *
 * @param candidates  Each message once, in any order, with or without words of the query.
 * @param weights  The positive weight of each word. A word's score is at most 2.2 times its weight.
 */
export function rankCandidates(candidates: readonly Candidate[], weights: readonly number[]): Ranked[] {
  const scoreMax = weights.reduce((sum, weight) => sum + weight, 0) * SATURATION_MAX || 1;
  const saturated = (frequencies: readonly number[], length: number): number =>
    frequencies.reduce((sum, frequency, word) => sum + weights[word]! * saturate(frequency / length), 0) / scoreMax;

  const sessions = new Map<string, { frequencies: number[]; bySeq: Map<number, readonly number[]> }>();
  for (const { sessionId, seq, wordScores } of candidates) {
    let session = sessions.get(sessionId);
    if (session === undefined) {
      session = { frequencies: weights.map(() => 0), bySeq: new Map() };
      sessions.set(sessionId, session);
    }
    const frequencies = wordScores.map((score, word) => unsaturate(score / weights[word]!));
    session.bySeq.set(seq, frequencies);
    addTo(session.frequencies, frequencies);
  }
  const sessionScores = new Map([...sessions].map(([id, { frequencies }]) => [id, saturated(frequencies, 1)]));
  const sessionScoreMax = Math.max(...sessionScores.values(), Number.MIN_VALUE);

  return candidates
    .map((candidate): Ranked => {
      const { sessionId, seq, speaker, isNamed } = candidate;
      const { factor, perLength } = SPEAKERS[speaker];
      const { bySeq } = sessions.get(sessionId)!;
      const nearby = [...bySeq.get(seq)!];
      for (let distance = 1; distance <= NEIGHBORHOOD_RADIUS; distance++) {
        for (const beside of [seq - distance, seq + distance]) addTo(nearby, bySeq.get(beside) ?? []);
      }
      const words = candidate.wordScores.reduce((sum, score) => sum + score, 0) / scoreMax;
      const neighborhood = WEIGHTS.neighborhood * saturated(nearby, NEIGHBORHOOD_LENGTH);
      const parts = {
        words,
        neighborhood,
        session: (WEIGHTS.session * sessionScores.get(sessionId)!) / sessionScoreMax,
        speaker:
          (factor - 1) * (words + neighborhood) +
          (isNamed ? NAMED_SPEAKER : 0) -
          perLength * Math.log1p(candidate.tokenCount),
        time: timePart(candidate),
        vector: 0,
      };
      return { candidate, score: sumOf(parts), parts };
    })
    .sort(byScore);
}

const READ_TOGETHER = 64;

/** Rounding may raise a cosine above 1 by at most this. */
const ROUNDING = 1e-6;

/**
 * Adds the similarity of each message to its score, and yields the messages best first. Embeddings are slow to read, so only the
 * first are read: a similarity raises a score by at most its weight, so later messages cannot overtake. (The threshold
 * algorithm: Fagin, Lotem and Naor, PODS 2001.)
 *
 * @param ranking  As `rankCandidates` returns it.
 * @param similaritiesOf  Returns the cosine of each message with the query, in [-1, 1]. Messages may have none.
 * @param weight  The weight of the cosine.
 */
export function* byLexicalVectors(
  ranking: readonly Ranked[],
  similaritiesOf: (messageIds: readonly number[]) => ReadonlyMap<number, number>,
  weight: number,
): Generator<Ranked> {
  const gainMax = weight * (1 + ROUNDING);
  let waiting: Ranked[] = [];
  for (let from = 0; from < ranking.length; from += READ_TOGETHER) {
    const chunk = ranking.slice(from, from + READ_TOGETHER);
    const similarities = similaritiesOf(chunk.map(({ candidate }) => candidate.messageId));
    const near = chunk.map((ranked) =>
      raised(ranked, weight * (similarities.get(ranked.candidate.messageId) ?? 0), "vector"),
    );
    waiting = [...waiting, ...near].sort(byScore);
    const next = ranking[from + READ_TOGETHER];
    const scoreMin = next === undefined ? Number.NEGATIVE_INFINITY : next.score + gainMax;
    const readyCount = waiting.findLastIndex(({ score }) => score > scoreMin) + 1;
    yield* waiting.splice(0, readyCount);
  }
}

/** The part of a score for the time of a message. */
export function timePart({ datedness, closeness }: Candidate): number {
  return WEIGHTS.time * datedness + WEIGHTS.near * closeness;
}

export function byScore(left: Ranked, right: Ranked): number {
  const [{ candidate: one }, { candidate: other }] = [left, right];
  return right.score - left.score || other.createdAtMs - one.createdAtMs || other.messageId - one.messageId;
}

/** Returns a message that counts more, by default because of who speaks. */
export function raised({ candidate, parts }: Ranked, gain: number, part: keyof ScoreParts = "speaker"): Ranked {
  const more = { ...parts, [part]: parts[part] + gain };
  return { candidate, score: sumOf(more), parts: more };
}

function addTo(sums: number[], frequencies: readonly number[]): void {
  frequencies.forEach((frequency, word) => {
    sums[word]! += frequency;
  });
}

export function sumOf({ words, neighborhood, session, speaker, time, vector }: ScoreParts): number {
  return words + neighborhood + session + speaker + time + vector;
}
