import type { Graph } from "./graph.ts";

/** Extra nominations, because some points have no cluster any more, and some are as near as the last one wanted. */
const SPARE = 8;

/** The graph adds in 32 bits, so distances that differ by less than this are equal. */
const ROUNDING = 1e-6;

/** After this many nominations, every cluster that `accepts` accepts is compared instead. */
const NOMINATIONS_MAX = 250;

type Accepts = ((root: number) => boolean) | undefined;

/** Returns every cluster of the graph that is accepted. */
export function acceptedIn({ roots }: Graph, accepts: Accepts): number[] {
  return roots.flatMap((group) => (accepts === undefined ? group : group.filter((root) => accepts(root))));
}

/**
 * Returns clusters that are likely to be the `k` nearest of those accepted.
 *
 * The library's own filter is not used: a filter that throws ends the process, and a selective filter takes many times as long
 * as a search. Instead the graph is asked for more clusters until enough are accepted. If only few are, every accepted
 * cluster is returned.
 */
export function nominated(graph: Graph, vector: Float32Array, k: number, accepts: Accepts): number[] {
  for (let count = k + SPARE; ; count *= 4) {
    const nominees = graph.nominate(vector, count);
    const accepted = nominees.flatMap(({ roots, distance }) =>
      firstAccepted(roots, k, accepts).map((root) => ({ root, distance })),
    );
    if (accepted.length >= k) {
      // Several may be as near as the last one. The caller orders them by their exact similarity.
      const distanceMax = accepted[k - 1]!.distance + ROUNDING;
      return accepted.filter(({ distance }) => distance <= distanceMax).map(({ root }) => root);
    }
    if (nominees.length < count || count > NOMINATIONS_MAX) return acceptedIn(graph, accepts);
  }
}

/** Returns the first `k` accepted clusters of a point, which are the oldest. */
function firstAccepted(roots: readonly number[], k: number, accepts: Accepts): number[] {
  if (accepts === undefined) return roots.slice(0, k);
  const accepted: number[] = [];
  for (const root of roots) {
    if (accepted.length === k) break;
    if (accepts(root)) accepted.push(root);
  }
  return accepted;
}
