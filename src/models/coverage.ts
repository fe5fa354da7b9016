export interface CoverageItem {
  /** The terms of the item, as indexes into the weights, each at most once. */
  terms: readonly number[];
  /** How well the item covers its terms: at least 0, comparable between the items of one call. */
  value: number;
  /** Above 0, in any unit. */
  cost: number;
}

/** One more item with a covered term still gains this much. It is small, but not zero. */
const TAIL = 0.03;

/**
 * Offers items greedily, starting with the best gain in coverage for its cost.
 *
 * It maximizes Σ weight(t)·(c/(1 + c) + 0.03·c), where c(t) is the sum of the values of the chosen items with term t. The
 * function is monotone and submodular, so a second item with the same terms adds less (Lin and Bilmes, "A Class of Submodular
 * Functions for Document Summarization", ACL 2011, with their cost-scaled greedy algorithm). A gain never grows, so an old gain
 * is an upper bound, and only items whose bound beats the current best are computed again (Minoux 1978). If gains are equal, the
 * first item wins.
 *
 * @param weights  Each at least 0.
 * @param gainMin  After the first item, an item is only offered if it gains more than this per square root of its cost.
 * @param refusalsMax  Stops after this many refusals, because the remaining items are unlikely to fit.
 * @param take  Gets an item's index, once for each item. Returns true if there was room for the item.
 */
export function selectByCoverage(
  items: readonly CoverageItem[],
  weights: readonly number[],
  { gainMin, refusalsMax }: { gainMin: number; refusalsMax: number },
  take: (index: number) => boolean,
): void {
  const covered = new Float64Array(weights.length);
  const bounds = new Float64Array(items.length).fill(Number.POSITIVE_INFINITY);
  // The square root is a compromise: the whole cost would favor the shortest lines, and no cost the longest.
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
