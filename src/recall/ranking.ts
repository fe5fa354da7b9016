import type { Role } from "../core/message.ts";
import { SATURATION_MAX, saturate, unsaturate } from "./bm25.ts";

/** The number of messages before and after a message that are its neighborhood. */
export const NEIGHBORHOOD_RADIUS = 2;

/** The assumed length of a neighborhood, in messages of mean length. */
const NEIGHBORHOOD_LENGTH = 1.5;

/**
 * The weight of each part of a score, relative to the words of the message itself. The weights were chosen on LoCoMo, BEAM and
 * the coding sessions of a project together. If any of them changes by a third, no measure changes by more than two points.
 */
const WEIGHTS = { neighborhood: 0.6, session: 0.4, time: 0.5, vector: 0.2 };

/**
 * How the speaker changes the score of the words of a message and its neighborhood. `factor` multiplies it: people state what
 * they want and what is true, assistants conclude, and tools print. `perLength` is subtracted for each e-fold of tokens,
 * because a short statement is more to the point than a long one.
 */
const SPEAKERS: Record<Role, { factor: number; perLength: number }> = {
  user: { factor: 2, perLength: 0.03 },
  assistant: { factor: 1.6, perLength: 0.09 },
  system: { factor: 1.6, perLength: 0.09 },
  tool: { factor: 1, perLength: 0.05 },
};

/** Added for a message whose speaker the query names. */
const NAMED_SPEAKER = 0.5;

/** A message that may answer a query. */
export interface Candidate {
  messageId: number;
  sessionId: string;
  seq: number;
  /** The role; `tool` for a message in which an assistant only calls tools. */
  speaker: Role;
  tokenCount: number;
  /** The BM25 score of each word of the query in this message; 0 for a word that does not occur. */
  wordScores: readonly number[];
  /** True if the query names its speaker. */
  isNamed: boolean;
  /** How exactly the query names its time, in [0, 1]: see `datedness`. */
  datedness: number;
}

/** The parts of a score. The score is their sum. */
export interface ScoreParts {
  /** The query's words in the message: BM25, as a share of the highest possible score. */
  words: number;
  /** The query's words in the message and its neighbors, taken as one text. */
  neighborhood: number;
  /** The query's words in the whole session, relative to the best session. */
  session: number;
  /** Who speaks, and how briefly. */
  speaker: number;
  /** How exactly the query names the time of the message. */
  time: number;
  /** The similarity of its embedding to the query's; 0 until `byVectors`. */
  vector: number;
}

export interface Ranked {
  candidate: Candidate;
  score: number;
  parts: ScoreParts;
}

/**
 * Orders candidates by score, best first, then newest first.
 *
 * An answer often shares few words with the question, but is next to a message that shares many, in a session about the same
 * thing. So the words of the neighbors count as well, and those of the session. Their scores are converted back to
 * frequencies, summed, and saturated as if all were one text, so that a word does not count once for each neighbor. See
 * Callan, "Passage-level evidence in document retrieval", SIGIR 1994.
 *
 * @param candidates  Each message once, in any order, with or without words of the query.
 * @param weights  The positive weight of each word of the query. No word score is more than 2.2 times the weight.
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
        time: WEIGHTS.time * candidate.datedness,
        vector: 0,
      };
      return { candidate, score: sumOf(parts), parts };
    })
    .sort(byScore);
}

const READ_TOGETHER = 64;

/** How far the cosine of rounded numbers may exceed 1. */
const ROUNDING = 1e-6;

/**
 * Adds the similarity of each message to its score, and yields the messages best first. Embeddings are slow to read, and a
 * similarity raises a score by at most its weight. So embeddings are read from the best message on, and only as far as the
 * caller asks. (The threshold algorithm: Fagin, Lotem and Naor, PODS 2001.)
 *
 * @param ranking  As `rankCandidates` returns it.
 * @param similaritiesOf  Returns the cosine of each message's embedding with the query's, in [-1, 1], if there is one.
 */
export function* byVectors(
  ranking: readonly Ranked[],
  similaritiesOf: (messageIds: readonly number[]) => ReadonlyMap<number, number>,
): Generator<Ranked> {
  const gainMax = WEIGHTS.vector * (1 + ROUNDING);
  let waiting: Ranked[] = [];
  for (let from = 0; from < ranking.length; from += READ_TOGETHER) {
    const chunk = ranking.slice(from, from + READ_TOGETHER);
    const similarities = similaritiesOf(chunk.map(({ candidate }) => candidate.messageId));
    const near = chunk.map(({ candidate, parts }): Ranked => {
      const nearer = { ...parts, vector: WEIGHTS.vector * (similarities.get(candidate.messageId) ?? 0) };
      return { candidate, score: sumOf(nearer), parts: nearer };
    });
    waiting = [...waiting, ...near].sort(byScore);
    const next = ranking[from + READ_TOGETHER];
    const scoreMin = next === undefined ? Number.NEGATIVE_INFINITY : next.score + gainMax;
    const readyCount = waiting.findLastIndex(({ score }) => score > scoreMin) + 1;
    yield* waiting.splice(0, readyCount);
  }
}

function byScore(left: Ranked, right: Ranked): number {
  return right.score - left.score || right.candidate.messageId - left.candidate.messageId;
}

function addTo(sums: number[], frequencies: readonly number[]): void {
  frequencies.forEach((frequency, word) => {
    sums[word]! += frequency;
  });
}

function sumOf({ words, neighborhood, session, speaker, time, vector }: ScoreParts): number {
  return words + neighborhood + session + speaker + time + vector;
}
