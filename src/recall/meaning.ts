import type { Background } from "./background.ts";
import { spreadOf } from "./background.ts";
import type { Placed } from "./ranking.ts";

/**
 * The probability that the message at place `n` of a ranking by words is an answer: `FIRST / n`, but at most `FIRST_MAX`. Shares
 * of 0.4 to 0.6 give about equal results on LoCoMo.
 */
const FIRST = 0.5;
const FIRST_MAX = 0.6;

/** The number of answers expected among all messages that share no word with the question. */
const WORDLESS = 0.5;

/**
 * The strengths that an embedder may have. With strength `a`, the share `u` of messages that are nearer to the question than an
 * answer has the density `a·u^(a-1)`. With 1, an answer is as far away as any message; the smaller `a`, the nearer the answer is.
 */
const STRENGTHS = [1, 0.8, 0.65, 0.5, 0.4, 0.3, 0.22, 0.15, 0.1];

/** No smaller share is used, because no embedder is certain. */
const SHARE_MIN = 1e-9;

export interface Meaning {
  /** The cosines of messages with the question, by message id. */
  cosines: ReadonlyMap<number, number>;
  /** The cosines of sampled messages with the question. */
  sampled: readonly number[];
  background: Background;
  /** The number of messages that are searched. */
  messageCount: number;
}

/**
 * Orders messages by their words and their vectors together: by the probability that they are answers.
 *
 * The place in the ranking by words gives a probability, and the cosine multiplies its odds. By how much depends on the embedder.
 * A cosine is compared with the background, the cosines of the same question with sampled messages, in standard deviations. The
 * share `u` of the background above it is small for an answer if the embedder is good. It is not known how good the embedder is.
 * So each strength gets a probability by how well it explains all cosines of this question, given the ranking by words, and the
 * odds are averaged over the strengths. (A mixture with a Beta density, as in Pounds and Morris, "Estimating the occurrence of
 * false positives and false negatives in microarray studies", Bioinformatics 19(10), 2003.) The vectors of a useless embedder
 * explain nothing, and the order stays that of the words.
 *
 * Messages with the question's words also have higher cosines. So the part of a cosine that the ranking by words predicts is
 * subtracted.
 *
 * @param ranking  The ranking by words, best first. Scores of people's messages and of others need not be comparable.
 * @returns the messages, best first. A score is a logarithm of odds.
 */
export function byMeaning(ranking: readonly Placed[], meaning: Meaning): Placed[] {
  const { cosines, sampled, background, messageCount } = meaning;
  const rest = WORDLESS / Math.max(messageCount, ranking.length);
  const priors = ranking.map(({ parts }, index) => {
    const hasWords = parts.words !== 0 || parts.neighborhood !== 0;
    return hasWords ? Math.max(rest, Math.min(FIRST_MAX, FIRST / (index + 1))) : rest;
  });
  const compared = ranking.flatMap(({ candidate }, index) => {
    const cosine = cosines.get(candidate.messageId);
    return cosine === undefined ? [] : [{ index, cosine, logit: logitOf(priors[index]!) }];
  });
  const { mean, deviation } = spreadOf(sampled);
  if (!(deviation > 0)) return [...ranking];
  const slope = slopeOf(compared, logitOf(rest), mean);
  const shares = ranking.map((): number | undefined => undefined);
  for (const { index, cosine, logit } of compared) {
    const unexpected = cosine - mean - slope * (logit - logitOf(rest));
    shares[index] = Math.max(SHARE_MIN, background.shareAbove(unexpected / deviation));
  }
  const strengths = strengthsOf(priors, shares, background.uselessness);
  const fused = ranking.map(({ candidate, parts }, index) => {
    const share = shares[index];
    const factor =
      share === undefined ? 1 : strengths.reduce((sum, [a, weight]) => sum + weight * density(share, a), 0);
    const score = logitOf(priors[index]!) + Math.log(factor);
    const { vector: _, ...others } = parts;
    const byWords = Object.values(others).reduce((sum, part) => sum + part, 0);
    return { candidate, score, parts: { ...parts, vector: score - byWords }, index };
  });
  fused.sort((left, right) => right.score - left.score || left.index - right.index);
  const best = fused[0]?.score ?? 0;
  return fused.map(({ index: _, ...ranked }) => ({ ...ranked, worth: probability(ranked.score) / probability(best) }));
}

/** Returns by how much cosines rise with the logit of the prior; at least 0. The background has the cosine `mean` at `from`. */
function slopeOf(compared: readonly { cosine: number; logit: number }[], from: number, mean: number): number {
  const above = compared.filter(({ logit }) => logit > from);
  const products = above.reduce((sum, { cosine, logit }) => sum + (cosine - mean) * (logit - from), 0);
  const squares = above.reduce((sum, { logit }) => sum + (logit - from) ** 2, 0);
  return squares === 0 ? 0 : Math.max(0, products / squares);
}

/** Returns the probability of each strength, given the cosines. */
function strengthsOf(
  priors: readonly number[],
  shares: readonly (number | undefined)[],
  uselessness: number,
): (readonly [strength: number, probability: number])[] {
  const logs = STRENGTHS.map((a) => {
    const before = a === 1 ? uselessness : (1 - uselessness) / (STRENGTHS.length - 1);
    return shares.reduce(
      (sum: number, share, index) =>
        share === undefined ? sum : sum + Math.log1p(priors[index]! * (density(share, a) - 1)),
      Math.log(before),
    );
  });
  const most = Math.max(...logs);
  const total = logs.reduce((sum, log) => sum + Math.exp(log - most), 0);
  return STRENGTHS.map((a, index) => [a, Math.exp(logs[index]! - most) / total]);
}

function density(share: number, strength: number): number {
  return strength * share ** (strength - 1);
}

function logitOf(probability: number): number {
  return Math.log(probability / (1 - probability));
}

function probability(logit: number): number {
  return 1 / (1 + Math.exp(-logit));
}
