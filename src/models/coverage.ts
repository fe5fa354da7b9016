/** Something that may be chosen: the terms it covers, how well it covers them, and what it costs. */
export interface CoverageItem {
  /** Indexes into the weights, each at most once. */
  terms: readonly number[];
  /** How much of a term one item covers; 0 covers nothing. Comparable between items, not between runs. */
  value: number;
  /** Above 0: tokens, characters, whatever the room is measured in. */
  cost: number;
}

/** What covering a covered term again is worth: little, but a second request on a subject is still a request. */
const TAIL = 0.03;

/**
 * Offer items in the order in which they add most to what is covered for what they cost.
 *
 * Maximizes Σ weight(t)·(c/(1 + c) + 0.03·c), c(t) being the summed values of the chosen items that hold term t: monotone and
 * submodular, so a second item on the same subject adds less than the first (Lin and Bilmes, "A Class of Submodular
 * Functions for Document Summarization", ACL 2011, with their cost-scaled greedy algorithm). A gain never grows, so an
 * old one is an upper bound, and only items whose bound beats the best of the round are weighed again (Minoux 1978).
 *
 * Equal gains go to the earlier item.
 *
 * @param weights  At least 0 each.
 * @param gainMin  Once one is taken, items that would add no more than this for the root of their cost are not offered.
 * @param refusalsMax  Stops after so many refused offers: what is left is unlikely to fit.
 * @param take  Told an item's index; answers whether there was room for it. No item is offered twice.
 */
export function selectByCoverage(
  items: readonly CoverageItem[],
  weights: readonly number[],
  { gainMin, refusalsMax }: { gainMin: number; refusalsMax: number },
  take: (index: number) => boolean,
): void {
  const covered = new Float64Array(weights.length);
  const bounds = new Float64Array(items.length).fill(Number.POSITIVE_INFINITY);
  // By the root of the cost: by the whole cost, only the shortest lines would win; by none, only the longest.
  const scales = items.map(({ cost }) => 1 / Math.sqrt(cost));

  const gainOf = (index: number): number => {
    const { terms, value } = items[index]!;
    let gain = 0;
    for (const term of terms) {
      const before = covered[term]!;
      gain += weights[term]! * value * (1 / ((1 + before) * (1 + before + value)) + TAIL);
    }
    return gain * scales[index]!;
  };

  let taken = false;
  for (let refusals = 0; refusals < refusalsMax; ) {
    let best = -1;
    let bestGain = taken ? gainMin : 0;
    for (let index = 0; index < items.length; index++) {
      if (bounds[index]! <= bestGain) continue;
      const gain = gainOf(index);
      bounds[index] = gain;
      if (gain > bestGain) {
        best = index;
        bestGain = gain;
      }
    }
    if (best < 0) return;
    bounds[best] = 0;
    if (!take(best)) {
      refusals++;
      continue;
    }
    taken = true;
    const { terms, value } = items[best]!;
    for (const term of terms) covered[term]! += value;
  }
}
