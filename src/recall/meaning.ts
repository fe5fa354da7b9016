import { spreadOf } from "./meaning-weight.ts";
import { byScore, type Ranked, raised } from "./ranking.ts";

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
