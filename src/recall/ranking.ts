import type { Role } from "../core/message.ts";

/** BM25's saturation, as `searchFullText` scores with it: one more of the same word counts less and less. */
const SATURATION = 1.2;

/** Places before and after a message that are its neighborhood. */
export const NEIGHBORHOOD_RADIUS = 2;

/** How many times as long as a message its passage is taken to be. */
const PASSAGE_SCALE = 1.5;

/**
 * What each part of a score weighs beside the words of the message itself, which weigh 1. Chosen on LoCoMo, BEAM and a
 * project's coding sessions together: with a third more or less of any, no measure moves by more than two points.
 */
const WEIGHTS = { neighborhood: 0.6, session: 0.4, time: 0.5, vector: 0.2 };

/** Whose words they are: people state what they want and what is so, assistants conclude, tools print. */
export type Speaker = Role;

/**
 * What who speaks does to the words of a message and of its neighborhood: `factor` multiplies what they are worth;
 * `perLength` is lost with each e-fold of length in tokens, for a short statement says more to the point than a long one.
 */
const SPEAKERS: Record<Speaker, { factor: number; perLength: number }> = {
  user: { factor: 2, perLength: 0.03 },
  assistant: { factor: 1.6, perLength: 0.09 },
  system: { factor: 1.6, perLength: 0.09 },
  tool: { factor: 1, perLength: 0.05 },
};

/** For a message whose speaker the query names. */
const NAMED_SPEAKER = 0.5;

/** A message that may answer a query. */
export interface Evidence {
  messageId: number;
  sessionId: string;
  seq: number;
  /** The role; of a message in which an assistant does nothing but call tools, `tool`. */
  speaker: Speaker;
  tokenCount: number;
  /** For each word of the query what BM25 gives for it in this message: 0 where it does not occur. */
  wordScores: readonly number[];
  /** Whether the query names its speaker. */
  isNamed: boolean;
  /** How exactly the query names its time, in [0, 1]: see `datedness`. */
  datedness: number;
}

/** What a score is the sum of. */
export interface ScoreParts {
  /** The query's words in the message itself: BM25, as a share of the most that any message could have. */
  words: number;
  /** The query's words in the message and its neighbors, taken as one passage. */
  neighborhood: number;
  /** The query's words anywhere in its session, beside the session that has most of them. */
  session: number;
  /** Who speaks, and how briefly. */
  speaker: number;
  /** How exactly the query names the time at which it was said. */
  time: number;
  /** Nearness of its embedding to the query's; 0 until `byVectors`. */
  vector: number;
}

export interface Ranked {
  evidence: Evidence;
  score: number;
  parts: ScoreParts;
}

/**
 * Order evidence by what it is worth, the best first, of equals the newest.
 *
 * Words alone find a message that repeats the question. What answers it often shares few words with it and stands beside
 * one that does, in a session that is about it. So the words near a message count too, each once, however many neighbors
 * hold it: neighbors' scores are taken back to frequencies, summed, and saturated again as one passage would be. Evidence
 * that lies in the same session supports each other in the same way. Passage and document evidence were combined so by
 * Callan, "Passage-level evidence in document retrieval", SIGIR 1994.
 *
 * @param evidence  Each message once, in any order; those without any word of the query may stand beside one that has some.
 * @param weights  Of each word of the query: its idf, positive. `wordScores` are at most 2.2 times that.
 */
export function rankEvidence(evidence: readonly Evidence[], weights: readonly number[]): Ranked[] {
  const scoreMax = weights.reduce((sum, weight) => sum + weight, 0) * (SATURATION + 1);
  const frequencies = new Map(evidence.map((one) => [one, frequenciesOf(one.wordScores, weights)]));
  const saturated = (counts: readonly number[], scale: number): number =>
    counts.reduce((sum, count, word) => sum + weights[word]! * saturate(count / scale), 0) / (scoreMax || 1);

  const sessions = new Map<string, { counts: number[]; bySeq: Map<number, readonly number[]> }>();
  for (const [{ sessionId, seq }, counts] of frequencies) {
    let session = sessions.get(sessionId);
    if (session === undefined) {
      session = { counts: weights.map(() => 0), bySeq: new Map() };
      sessions.set(sessionId, session);
    }
    session.bySeq.set(seq, counts);
    addTo(session.counts, counts);
  }
  const sessionScores = new Map([...sessions].map(([id, { counts }]) => [id, saturated(counts, 1)]));
  const sessionScoreMax = Math.max(...sessionScores.values(), Number.MIN_VALUE);

  return evidence
    .map((one): Ranked => {
      const { factor, perLength } = SPEAKERS[one.speaker];
      const { bySeq } = sessions.get(one.sessionId)!;
      const passage = [...frequencies.get(one)!];
      for (let distance = 1; distance <= NEIGHBORHOOD_RADIUS; distance++) {
        for (const seq of [one.seq - distance, one.seq + distance]) addTo(passage, bySeq.get(seq) ?? []);
      }
      const words = one.wordScores.reduce((sum, score) => sum + score, 0) / (scoreMax || 1);
      const neighborhood = WEIGHTS.neighborhood * saturated(passage, PASSAGE_SCALE);
      const parts = {
        words,
        neighborhood,
        session: (WEIGHTS.session * sessionScores.get(one.sessionId)!) / sessionScoreMax,
        speaker:
          (factor - 1) * (words + neighborhood) +
          (one.isNamed ? NAMED_SPEAKER : 0) -
          perLength * Math.log1p(one.tokenCount),
        time: WEIGHTS.time * one.datedness,
        vector: 0,
      };
      return { evidence: one, score: sumOf(parts), parts };
    })
    .sort(byScore);
}

/** Ranked messages whose embeddings are looked up together. */
const LOOKED_UP = 64;

/** By which a cosine of rounded numbers may be above 1. */
const ROUNDING = 1e-6;

/**
 * The same, with what nearness to the query adds to each score, best first. Reading embeddings takes longer than all the rest
 * of a ranking, and no nearness lifts a message by more than its weight: so those are read from the best on, and no more
 * of them than the messages that are taken ask for. (The threshold algorithm: Fagin, Lotem and Naor, PODS 2001.)
 *
 * @param ranking  As `rankEvidence` gives it.
 * @param similaritiesOf  Of some messages: the cosine of the embedding with the query's, in [-1, 1]; left out where there is none.
 */
export function* byVectors(
  ranking: readonly Ranked[],
  similaritiesOf: (messageIds: readonly number[]) => ReadonlyMap<number, number>,
): Generator<Ranked> {
  const gainMax = WEIGHTS.vector * (1 + ROUNDING);
  let waiting: Ranked[] = [];
  for (let from = 0; from < ranking.length; from += LOOKED_UP) {
    const chunk = ranking.slice(from, from + LOOKED_UP);
    const similarities = similaritiesOf(chunk.map(({ evidence }) => evidence.messageId));
    const near = chunk.map(({ evidence, parts }): Ranked => {
      const nearer = { ...parts, vector: WEIGHTS.vector * (similarities.get(evidence.messageId) ?? 0) };
      return { evidence, score: sumOf(nearer), parts: nearer };
    });
    waiting = [...waiting, ...near].sort(byScore);
    const next = ranking[from + LOOKED_UP];
    const scoreMin = next === undefined ? Number.NEGATIVE_INFINITY : next.score + gainMax;
    const readyCount = waiting.findLastIndex(({ score }) => score > scoreMin) + 1;
    yield* waiting.splice(0, readyCount);
  }
}

/** Best first, then newest. */
function byScore(left: Ranked, right: Ranked): number {
  return right.score - left.score || right.evidence.messageId - left.evidence.messageId;
}

function saturate(frequency: number): number {
  return (frequency * (SATURATION + 1)) / (frequency + SATURATION);
}

/** Of each word, how often it would occur in a message of mean length with this score: `saturate` backwards. */
function frequenciesOf(wordScores: readonly number[], weights: readonly number[]): number[] {
  return wordScores.map((score, word) => {
    const share = score / weights[word]!;
    return (SATURATION * share) / Math.max(SATURATION + 1 - share, SATURATION / FREQUENCY_MAX);
  });
}

/** Where a score is next to its maximum, rounding would make infinity of it. */
const FREQUENCY_MAX = 1_000;

function addTo(sums: number[], counts: readonly number[]): void {
  counts.forEach((count, word) => {
    sums[word]! += count;
  });
}

function sumOf({ words, neighborhood, session, speaker, time, vector }: ScoreParts): number {
  return words + neighborhood + session + speaker + time + vector;
}
