import { hashingEmbedder } from "../models/hashing-embedder.ts";
import type { EvidenceRow } from "../store/index.ts";
import { dot } from "../vector/vector.ts";
import { type Example, fitWeights } from "./listwise.ts";
import { byScore, type Ranked, raised } from "./ranking.ts";
import type { Source } from "./source.ts";

/** The vectors of most unrelated messages are no nearer to a question than this, in standard deviations. */
const UNRELATED = 1;

/** How sharply nearness begins to count at `UNRELATED`. */
const SHARPNESS = 2;

export interface Meaning {
  /** The cosines of messages with the question, by message id. */
  cosines: ReadonlyMap<number, number>;
  /** The cosines of sampled messages with the question. */
  sampled: readonly number[];
  /** @see meaningWeight */
  weight: number;
}

/**
 * Raises messages whose vectors are nearer to the question's than those of most messages, and orders all by their scores. Cosines of
 * embedders differ, so each is compared with those of sampled messages.
 *
 * @param odds  By how much the logarithm of the odds that a message answers rises with a score that is higher by 1.
 */
export function byMeaning(ranking: readonly Ranked[], { cosines, sampled, weight }: Meaning, odds: number): Ranked[] {
  const { mean, deviation } = spreadOf(sampled);
  if (!(deviation > 0)) return [...ranking];
  return ranking
    .map((ranked) => {
      const cosine = cosines.get(ranked.candidate.messageId) ?? mean;
      return raised(ranked, (weight * nearness((cosine - mean) / deviation)) / odds, "vector");
    })
    .sort(byScore);
}

/** About 0 below `UNRELATED`, and about the distance to it above. It always rises, so that the nearest of far messages is first, too. */
function nearness(deviations: number): number {
  return Math.log1p(Math.exp(SHARPNESS * (deviations - UNRELATED))) / SHARPNESS;
}

/** This many of the sampled messages are compared with the messages after them. Their texts are read, too. */
const PAIRS_MAX = 64;

/** The next message is compared with the others at most this many places away. */
const RADIUS = 4;

/** The weight before any pair is known. Real embedders lose nothing with it. It counts as much as `ASSUMED_PAIRS`. */
const ASSUMED = 0.2;
const ASSUMED_PAIRS = 10;

/** Decides between messages that are equal by words. */
const WEIGHT_MIN = 0.01;

/** The penalty on large weights. The pairs decide, except if words explain all of them. */
const PENALTY = 1;

/**
 * Returns by how much the logarithm of the odds that a message answers rises with each standard deviation of its cosine.
 *
 * It is learned from a store's own messages, without questions: as the weight with which cosines tell what is said next from what is
 * said a little earlier and later. Beside it, the words that two messages share have a weight of their own. So vectors count for
 * nothing if they only know the topic, which all of these messages have in common, or only what their words tell already.
 *
 * @param sampledIds  Messages of the sessions that are searched.
 */
export function meaningWeight(
  source: Pick<Source, "around" | "rows" | "textsOf" | "embeddings">,
  sampledIds: readonly number[],
  embedderId: string,
): number {
  const pairedIds = sampledIds.slice(0, PAIRS_MAX);
  const ids = source.around(pairedIds, RADIUS);
  const rows = source.rows(ids);
  const vectors = source.embeddings(ids, embedderId);
  const words = new Map(Array.from(source.textsOf(ids), ([id, text]) => [id, hashingEmbedder.embed(text)]));
  const placeOf = ({ sessionId, seq }: Pick<EvidenceRow, "sessionId" | "seq">): string => `${seq} ${sessionId}`;
  const byPlace = new Map(rows.map((row) => [placeOf(row), row]));
  const cosine = (left: Float32Array | undefined, right: Float32Array | undefined): number =>
    left === undefined || right === undefined ? 0 : dot(left, right);
  const paired = new Set(pairedIds);
  const examples = rows.flatMap(({ messageId, sessionId, seq }): Example[] => {
    const own = paired.has(messageId) ? vectors.get(messageId) : undefined;
    if (own === undefined) return [];
    const { mean, deviation } = spreadOf(pairedIds.flatMap((id) => (id === messageId ? [] : cosinesOf(own, id))));
    if (!(deviation > 0)) return [];
    const places = Array.from({ length: 2 * RADIUS + 1 }, (_, index) => index - RADIUS);
    const compared = places.flatMap((distance) => {
      const row =
        distance === -1 || distance === 0 ? undefined : byPlace.get(placeOf({ sessionId, seq: seq + distance }));
      const vector = row && vectors.get(row.messageId);
      if (vector === undefined) return [];
      const shared = cosine(words.get(messageId), words.get(row!.messageId));
      return [{ isNext: distance === 1, row: Float64Array.of((dot(own, vector) - mean) / deviation, shared) }];
    });
    const isGold = compared.map(({ isNext }) => isNext);
    return isGold.includes(true) && compared.length > 1 ? [{ rows: compared.map(({ row }) => row), isGold }] : [];
  });
  const fitted = examples.length === 0 ? 0 : fitWeights(examples, PENALTY)[0]!;
  const weight = (examples.length * fitted + ASSUMED_PAIRS * ASSUMED) / (examples.length + ASSUMED_PAIRS);
  return Math.max(WEIGHT_MIN, weight);

  function cosinesOf(own: Float32Array, id: number): number[] {
    const vector = vectors.get(id);
    return vector === undefined ? [] : [dot(own, vector)];
  }
}

/** Returns the mean and the standard deviation of most of the cosines. The farthest are left out: they may be answers. */
export function spreadOf(cosines: readonly number[]): { mean: number; deviation: number } {
  let kept = cosines;
  for (let round = 0; ; round++) {
    const mean = kept.reduce((sum, cosine) => sum + cosine, 0) / kept.length;
    const variance = kept.reduce((sum, cosine) => sum + (cosine - mean) ** 2, 0) / kept.length;
    // Without the 1 % beyond 2.5 deviations, a normal distribution looks 5 % narrower.
    const deviation = Math.sqrt(variance) * (round === 0 ? 1 : 1.05);
    if (round === 3 || !(deviation > 0)) return { mean, deviation };
    kept = kept.filter((cosine) => Math.abs(cosine - mean) < 2.5 * deviation);
  }
}
