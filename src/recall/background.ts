import { dot } from "../vector/vector.ts";

/** Fewer sampled messages say nothing about the embedder. */
const SAMPLE_MIN = 64;

/** This many of the sampled messages are compared with all others. It takes 10 ms at 768 dimensions. */
const COMPARED_MAX = 48;

/** The part of all cosines that counts as the tail. */
const TAIL = 0.01;

/** The tail of a normal distribution: where it begins, and how fast it falls. */
const NORMAL_TAIL = { from: 2.33, decay: 2.9 };

/** Copies of a message say nothing about meaning. */
const COPY_COSINE_MIN = 0.9999;

/**
 * The probability that an embedder is useless: `blind` if its vectors place a message no nearer to the next message than to
 * others, `seeing` if they clearly place it nearer.
 */
const USELESS = { blind: 0.95, seeing: 0.15 };

/** The agreement with the conversation, in standard errors: up to `chance` it means nothing, and from `certain` on it is real. */
const AGREEMENT = { chance: 2, certain: 5 };

/** The distribution of an embedder's cosines between messages of the store. */
export interface Background {
  /** The probability, before anything is asked, that the embedder says nothing about meaning. */
  uselessness: number;
  /** Returns the share of messages whose cosine exceeds the mean by this many standard deviations. In (0, 1]. */
  shareAbove(deviations: number): number;
}

export interface SampledMessage {
  vector: Float32Array;
  /** The vector of the next message of its session, if there is one. */
  next: Float32Array | undefined;
}

/**
 * Measures an embedder on a sample of a store's own messages, without questions or answers.
 *
 * Embedders differ in two ways. First, some see many messages as close to each other, because the messages share a subject or a
 * tone. So the share of close messages is counted, and extrapolated as an exponential tail (Pickands, "Statistical inference using
 * extreme order statistics", Ann. Statist. 3(1), 1975). Second, an embedder that knows what texts mean places a message nearer to
 * the next message of its conversation than to other messages. An embedder that does not is probably useless.
 */
export function backgroundOf(sample: readonly SampledMessage[]): Background {
  if (sample.length < SAMPLE_MIN)
    return { uselessness: 0.5, shareAbove: (deviations) => share([], NORMAL_TAIL, deviations) };
  const all: number[] = [];
  for (const [index, { vector }] of sample.slice(0, COMPARED_MAX).entries()) {
    const cosines = sample.filter((_, other) => other !== index).map((other) => dot(vector, other.vector));
    const { mean, deviation } = spreadOf(cosines);
    if (deviation > 0) for (const cosine of cosines) all.push((cosine - mean) / deviation);
  }
  const sorted = Float64Array.from(all).sort();
  const from = sorted[Math.floor((1 - TAIL) * sorted.length)] ?? NORMAL_TAIL.from;
  const excesses = sorted.filter((deviations) => deviations > from).map((deviations) => deviations - from);
  const excess = excesses.reduce((sum, one) => sum + one, 0) / excesses.length;
  const tail = excess > 0 ? { from, decay: 1 / excess } : NORMAL_TAIL;
  return { uselessness: uselessnessIn(sample), shareAbove: (deviations) => share(sorted, tail, deviations) };
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

function share(sorted: ArrayLike<number>, tail: { from: number; decay: number }, deviations: number): number {
  if (deviations > tail.from) return TAIL * Math.exp(-tail.decay * (deviations - tail.from));
  if (sorted.length === 0) return Math.max(TAIL, 1 / (1 + Math.exp(1.702 * deviations)));
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (sorted[middle]! < deviations) from = middle + 1;
    else to = middle;
  }
  return Math.max(TAIL, 1 - from / sorted.length);
}

function uselessnessIn(sample: readonly SampledMessage[]): number {
  let [nearerCount, count] = [0, 0];
  for (const { vector, next } of sample) {
    const cosine = next && dot(vector, next);
    if (cosine === undefined || cosine > COPY_COSINE_MIN) continue;
    const others = Float64Array.from(sample, (other) => dot(vector, other.vector)).sort();
    count += 1;
    if (cosine > others[others.length >> 1]!) nearerCount += 1;
  }
  if (count === 0) return 0.5;
  const agreement = (nearerCount / count - 0.5) * 2 * Math.sqrt(count);
  const certainty = (agreement - AGREEMENT.chance) / (AGREEMENT.certain - AGREEMENT.chance);
  return USELESS.blind - (USELESS.blind - USELESS.seeing) * Math.max(0, Math.min(1, certainty));
}
