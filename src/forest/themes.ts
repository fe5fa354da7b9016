import { assert } from "../core/damage.ts";
import { addInto, dot, squaredLength } from "../vector/vector.ts";
import { addStep, type StepFeatures, type VectorSum } from "./cluster.ts";

export interface Theme extends VectorSum {
  root: number;
  clusterCount: number;
  messageCount: number;
  tokenCount: number;
  seqFirst: number;
  seqLast: number;
}

export function startTheme(step: StepFeatures, dimension: number): Theme {
  const theme: Theme = {
    root: step.id,
    sum: new Float32Array(dimension),
    vectorCount: 0,
    clusterCount: 1,
    messageCount: 0,
    tokenCount: 0,
    seqFirst: step.seqFirst,
    seqLast: step.seqLast,
  };
  joinTheme(theme, step);
  return theme;
}

export function copyTheme(theme: Theme): Theme {
  return { ...theme, sum: theme.sum.slice() };
}

export function joinTheme(theme: Theme, step: StepFeatures): void {
  addStep(theme, step);
  theme.messageCount += step.messageCount;
  theme.tokenCount += step.tokenCount;
  theme.seqLast = Math.max(theme.seqLast, step.seqLast);
}

export function uniteThemes(theme: Theme, absorbed: Theme): void {
  addInto(theme.sum, absorbed.sum);
  theme.vectorCount += absorbed.vectorCount;
  theme.clusterCount += absorbed.clusterCount;
  theme.messageCount += absorbed.messageCount;
  theme.tokenCount += absorbed.tokenCount;
  theme.seqFirst = Math.min(theme.seqFirst, absorbed.seqFirst);
  theme.seqLast = Math.max(theme.seqLast, absorbed.seqLast);
}

/** A united theme may hold this share of all messages, if any pair allows it. */
const UNITED_SHARE_MAX = 0.3;

/**
 * Chooses the two themes that unite when there are too many: the pair with the least cost among those with at most 30 %
 * of all messages. If every pair is larger, the pair with the fewest messages is chosen; this needs fewer than seven
 * themes. Without the limit, one theme held half of the messages in conversations about one subject.
 *
 * The cost is Ward's n_a·n_b/(n_a+n_b)·‖c_a−c_b‖², where c is the mean (Ward, "Hierarchical grouping to optimize an
 * objective function", JASA 58, 1963). A theme without vectors costs nothing. If costs are equal, the older roots win.
 *
 * @param themes  At least two, in any order.
 * @returns as `root` the theme with more clusters, or the older one if the counts are equal.
 */
export function leastWardPair(themes: readonly Theme[]): { root: number; absorbed: number; cost: number } {
  assert(themes.length >= 2, "two themes are needed to unite");
  const ordered = [...themes].sort((left, right) => left.root - right.root);
  const squares = ordered.map(({ sum }) => squaredLength(sum));
  const allowed = UNITED_SHARE_MAX * ordered.reduce((count, { messageCount }) => count + messageCount, 0);

  let best: { a: Theme; b: Theme; cost: number; excess: number } | undefined;
  for (const [i, a] of ordered.entries()) {
    for (let j = i + 1; j < ordered.length; j++) {
      const b = ordered[j]!;
      const united = a.messageCount + b.messageCount;
      const excess = united <= allowed ? 0 : united;
      const cost = wardCost(a, squares[i]!, b, squares[j]!);
      if (best === undefined || excess < best.excess || (excess === best.excess && cost < best.cost)) {
        best = { a, b, cost, excess };
      }
    }
  }
  const { a, b, cost } = best!;
  const [stays, leaves] = b.clusterCount > a.clusterCount ? [b, a] : [a, b];
  return { root: stays.root, absorbed: leaves.root, cost };
}

/** Computes the cost from sums, so no mean has to be stored: ‖s_a/n_a − s_b/n_b‖². */
function wardCost(a: Theme, squareA: number, b: Theme, squareB: number): number {
  const [countA, countB] = [a.vectorCount, b.vectorCount];
  if (countA === 0 || countB === 0) return 0;
  const squaredDistance =
    squareA / (countA * countA) + squareB / (countB * countB) - (2 * dot(a.sum, b.sum)) / (countA * countB);
  return ((countA * countB) / (countA + countB)) * Math.max(0, squaredDistance);
}
