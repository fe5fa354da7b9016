import { stem } from "../../../src/models/stem.ts";
import { words } from "../../../src/models/words.ts";

/** The values that the published compactor was tuned to. */
const COSINE_MIN = 0.15;
const CLUSTERS_MAX = 10;
const RETRIEVED_MAX = 3;
const RETRIEVED_COSINE_MIN = 0.05;

type Vector = Map<string, number>;

interface Cluster {
  members: number[];
  /** The sum of the members' vectors. Its direction is that of their mean. */
  sum: Vector;
  lengthSquared: number;
}

/**
 * The published union-find compactor, written again from its description. A message that leaves the hot window joins the cluster
 * with the most similar mean, if the cosine is at least 0.15, and otherwise starts one. If there are more than ten, the two most
 * similar ones are united, however little similar they are. Vectors are TF-IDF, with the counts of the messages seen so far, and are
 * not computed again.
 */
export class PublishedCompactor {
  readonly #documentCounts = new Map<string, number>();
  readonly #clusters: Cluster[] = [];
  #count = 0;

  /** Adds the oldest message that has left the hot window. */
  graduate(text: string): void {
    const vector = this.#vectorOf(text, true);
    const alone: Cluster = { members: [this.#count], sum: vector, lengthSquared: dot(vector, vector) };
    const [best] = bySimilarity(this.#clusters, alone);
    if (best !== undefined && best.similarity >= COSINE_MIN) unite(best.cluster, alone);
    else this.#clusters.push(alone);
    this.#count++;
    if (this.#clusters.length > CLUSTERS_MAX) this.#uniteClosest();
  }

  /** Returns the members of each cluster, by the order in which they were added. */
  clusters(): number[][] {
    return this.#clusters.map(({ members }) => members.toSorted((left, right) => left - right));
  }

  /** Returns the clusters that it would show for a question. */
  retrieved(question: string): number[][] {
    const vector = this.#vectorOf(question, false);
    return bySimilarity(this.#clusters, { sum: vector, lengthSquared: dot(vector, vector) })
      .filter(({ similarity }) => similarity >= RETRIEVED_COSINE_MIN)
      .slice(0, RETRIEVED_MAX)
      .map(({ cluster }) => cluster.members.toSorted((left, right) => left - right));
  }

  #vectorOf(text: string, isNew: boolean): Vector {
    const weights: Vector = new Map();
    for (const term of words(text).map(stem)) weights.set(term, (weights.get(term) ?? 0) + 1);
    const counts = this.#documentCounts;
    if (isNew) for (const term of weights.keys()) counts.set(term, (counts.get(term) ?? 0) + 1);
    for (const [term, weight] of weights) {
      weights.set(term, weight * (1 + Math.log((this.#count + 2) / ((counts.get(term) ?? 0) + 1))));
    }
    const length = Math.sqrt(dot(weights, weights)) || 1;
    return new Map([...weights].map(([term, weight]) => [term, weight / length]));
  }

  #uniteClosest(): void {
    const pairs = this.#clusters.flatMap((left, index) =>
      bySimilarity(this.#clusters.slice(index + 1), left)
        .slice(0, 1)
        .map((right) => ({ kept: left, ...right })),
    );
    const { kept, cluster } = pairs.sort((left, right) => right.similarity - left.similarity)[0]!;
    unite(kept, cluster);
    this.#clusters.splice(this.#clusters.indexOf(cluster), 1);
  }
}

/** Returns the clusters with their cosines to another, most similar first. */
function bySimilarity(
  clusters: readonly Cluster[],
  { sum, lengthSquared }: Pick<Cluster, "sum" | "lengthSquared">,
): { cluster: Cluster; similarity: number }[] {
  return clusters
    .map((cluster) => {
      const lengths = Math.sqrt(cluster.lengthSquared * lengthSquared);
      return { cluster, similarity: lengths === 0 ? 0 : dot(cluster.sum, sum) / lengths };
    })
    .sort((left, right) => right.similarity - left.similarity);
}

function unite(kept: Cluster, { members, sum }: Cluster): void {
  kept.members.push(...members);
  for (const [term, weight] of sum) kept.sum.set(term, (kept.sum.get(term) ?? 0) + weight);
  kept.lengthSquared = dot(kept.sum, kept.sum);
}

function dot(left: Vector, right: Vector): number {
  const [small, large] = left.size <= right.size ? [left, right] : [right, left];
  let sum = 0;
  for (const [term, weight] of small) sum += weight * (large.get(term) ?? 0);
  return sum;
}
