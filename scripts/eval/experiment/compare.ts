import { signTest } from "../sign-test.ts";

/** Two arms at one place, which belongs to a conversation. */
export interface Pair {
  conversation: string;
  left: number;
  right: number;
}

export interface Comparison {
  /** The mean of left − right, and its 95 % interval. */
  difference: number;
  low: number;
  high: number;
  /** The number of pairs in which the left is larger, and in which it is smaller. */
  more: number;
  less: number;
  /** The exact two-sided sign test. For values of 0 and 1 this is McNemar's exact test. */
  p: number;
}

const RESAMPLES = 2_000;

/**
 * Compares two arms pair by pair. The interval is the percentile bootstrap over whole conversations, because the places of one
 * conversation are alike (Davison and Hinkley, *Bootstrap Methods and their Application*, 1997, section 3.8). Its random numbers
 * are fixed, so that a run can be repeated.
 */
export function compare(pairs: readonly Pair[]): Comparison {
  const totals = new Map<string, { sum: number; count: number }>();
  let [more, less] = [0, 0];
  for (const { conversation, left, right } of pairs) {
    const total = totals.get(conversation) ?? { sum: 0, count: 0 };
    totals.set(conversation, { sum: total.sum + left - right, count: total.count + 1 });
    if (left > right) more++;
    if (left < right) less++;
  }
  const conversations = [...totals.values()];
  const below = randomNumbers();
  const means = Array.from({ length: RESAMPLES }, () =>
    meanOf(conversations.map(() => conversations[below(conversations.length)]!)),
  ).sort((left, right) => left - right);
  return {
    difference: meanOf(conversations),
    low: means[Math.floor(0.025 * RESAMPLES)]!,
    high: means[Math.ceil(0.975 * RESAMPLES) - 1]!,
    more,
    less,
    p: signTest(more, less),
  };
}

function meanOf(totals: readonly { sum: number; count: number }[]): number {
  const count = totals.reduce((sum, total) => sum + total.count, 0);
  return count === 0 ? 0 : totals.reduce((sum, total) => sum + total.sum, 0) / count;
}

/** Returns a generator of whole numbers below a count (Numerical Recipes' linear congruential generator). */
function randomNumbers(): (count: number) => number {
  let state = 0x9e3779b9;
  return (count) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}
