import type { Graph } from "./graph.ts";

/** Nominations asked for beyond those wanted: some points lead nowhere any more, and some are as near as the last one. */
const SPARE = 8;

/** Distances that differ by less are the same to the graph: it adds in 32 bits. */
const ROUNDING = 1e-6;

/** Nominations after which a selective `accepts` is answered by comparing all that it accepts. */
const NOMINATIONS_MAX = 250;

/** All clusters of the graph that are accepted. */
export function acceptedIn({ roots }: Graph, accepts: ((root: number) => boolean) | undefined): number[] {
  return roots.flatMap((group) => (accepts === undefined ? group : group.filter((root) => accepts(root))));
}

/**
 * Clusters of the graph that are likely to be among the `k` nearest of those accepted.
 *
 * The library's own filter is not used: one that throws ends the process, and a selective one takes many times a plain
 * search. Instead, more are asked for until enough are accepted; where few of the nearest are, all accepted ones are
 * compared.
 */
export function nominated(
  graph: Graph,
  vector: Float32Array,
  k: number,
  accepts: ((root: number) => boolean) | undefined,
): number[] {
  for (let count = k + SPARE; ; count *= 4) {
    const nominees = graph.nominate(vector, count);
    const accepted = nominees.flatMap(({ roots, distance }) =>
      firstOf(roots, k, accepts).map((root) => ({ root, distance })),
    );
    if (accepted.length >= k) {
      // Which of those as near as the last one come first, their rows decide.
      const distanceMax = accepted[k - 1]!.distance + ROUNDING;
      return accepted.filter(({ distance }) => distance <= distanceMax).map(({ root }) => root);
    }
    if (nominees.length < count || count > NOMINATIONS_MAX) return acceptedIn(graph, accepts);
  }
}

/** The first `k` that are accepted: of clusters that are equally near, the oldest. */
function firstOf(roots: readonly number[], k: number, accepts: ((root: number) => boolean) | undefined): number[] {
  const accepted: number[] = [];
  for (const root of roots) {
    if (accepted.length === k) break;
    if (accepts === undefined || accepts(root)) accepted.push(root);
  }
  return accepted;
}
