import { assert } from "../core/assert.ts";
import { addInto, dot, normalize, squaredLength } from "../vector/vector.ts";

/**
 * A cluster joins a subject only if their mean cosine is at least this many times the standard deviation of the cosines of a
 * project's clusters, within these limits. Vectors are taken relative to the background.
 */
const DEVIATIONS_MIN = 3;
const SIMILARITY_MIN = { least: 0.3, most: 0.5 };
/** Counts as so many pairs of clusters, because few pairs tell little about all. */
const DEVIATION_PRIOR = { deviation: 0.1, pairCount: 500 };

/** A subject may hold this share of a project's clusters, or this number if it is larger. */
const SHARE_MAX = 0.2;
const CLUSTERS_ALWAYS = 4;

/** The background is what a project's first 256 clusters have in common. Its center also counts 16 zero vectors. */
const BACKGROUND_CLUSTERS = 256;
const CENTER_PRIOR = 16;
/** There is one axis for this many clusters and for this many dimensions, whichever gives fewer. */
const CLUSTERS_PER_AXIS = 64;
const DIMENSIONS_PER_AXIS = 100;
/** More steps of the power method hardly change a cosine. */
const POWER_STEPS = 10;

export interface SubjectCluster {
  root: number;
  sessionId: string;
  /** The centroid at unit length; undefined if no text of the cluster has words. */
  direction: Float32Array | undefined;
}

export interface SubjectAssignment {
  root: number;
  similarity: number | undefined;
}

interface ComparedCluster {
  sessionId: string;
  /** Kept until the background is fixed. */
  direction: Float32Array | undefined;
  fromBackground: Float32Array;
}

interface Background {
  center: Float32Array;
  /** Unit vectors along which clusters differ most, orthogonal to each other. */
  axes: readonly Float32Array[];
  similarityMin: number;
}

interface Subject {
  compared: ComparedCluster[];
  /** The sum of all `fromBackground`. Its product with a vector, divided by the count, is the mean cosine. */
  sum: Float32Array;
  /** Includes clusters without a direction. */
  clusterCount: number;
}

/**
 * The subjects of one project. Clusters are assigned in the order in which they settled, and never reassigned (leader
 * clustering). So a cluster's subject depends only on earlier clusters.
 *
 * A cluster is compared with all clusters of a subject, so a subject cannot grow along a chain of neighbors. Clusters
 * of one project share words, and differ most in the kind of work: tests, reviews, plans. So cosines are measured from the
 * project's center and without the axes along which its clusters differ most (Mu and Viswanath, "All-but-the-Top", ICLR 2018).
 * Without the 16 zero vectors, the center of a new project would lie on its first clusters. Cosines of long clusters vary more
 * than those of short ones, so a threshold in standard deviations serves prose, code and any embedder.
 */
export class ProjectSubjects {
  /** Keyed by root, in the order in which they started. */
  readonly #subjects = new Map<number, Subject>();
  #clusterCount = 0;
  readonly #first: { sessionId: string; direction: Float32Array }[] = [];
  /** Learned again whenever the number of clusters has doubled. */
  #background: Background = { center: new Float32Array(0), axes: [], similarityMin: SIMILARITY_MIN.least };

  get clusterCount(): number {
    return this.#clusterCount;
  }

  get subjectCount(): number {
    return this.#subjects.size;
  }

  /** Adds a cluster that is already assigned. Call it in the order of assignment. @param subject  A root. */
  restore(cluster: SubjectCluster, subject: number): void {
    this.#learn(cluster);
    this.#add(cluster, subject);
  }

  /**
   * Assigns the next settled cluster to the nearest subject, or to a new one. A subject needs a near cluster of another
   * session and room for one more cluster. Of equally near subjects, the oldest wins.
   */
  assign(cluster: SubjectCluster): SubjectAssignment {
    this.#learn(cluster);
    const chosen = this.#choose(cluster);
    this.#add(cluster, chosen?.root ?? cluster.root);
    return chosen ?? { root: cluster.root, similarity: undefined };
  }

  #choose({ sessionId, direction }: SubjectCluster): { root: number; similarity: number } | undefined {
    if (direction === undefined) return undefined;
    const fromBackground = fromBackgroundOf(direction, this.#background);
    const { similarityMin } = this.#background;
    const sizeMax = Math.max(CLUSTERS_ALWAYS, Math.floor(SHARE_MAX * (this.clusterCount + 1)));
    const isNear = (other: ComparedCluster): boolean =>
      other.sessionId !== sessionId && dot(fromBackground, other.fromBackground) >= similarityMin;

    let best: { root: number; similarity: number } | undefined;
    for (const [root, { compared, sum, clusterCount }] of this.#subjects) {
      if (clusterCount >= sizeMax || compared.length === 0) continue;
      const similarity = dot(fromBackground, sum) / compared.length;
      if (similarity < similarityMin || similarity <= (best?.similarity ?? -1) || !compared.some(isNear)) continue;
      best = { root, similarity };
    }
    return best;
  }

  #add({ root, sessionId, direction }: SubjectCluster, subjectRoot: number): void {
    assert(subjectRoot === root || this.#subjects.has(subjectRoot), "a cluster joins a subject by its root");
    this.#clusterCount += 1;
    const subject = this.#subjects.get(subjectRoot) ?? { compared: [], sum: new Float32Array(0), clusterCount: 0 };
    this.#subjects.set(subjectRoot, subject);
    subject.clusterCount += 1;
    if (direction === undefined) return;
    if (subject.compared.length === 0) subject.sum = new Float32Array(direction.length);
    const isFixed = this.#first.length === BACKGROUND_CLUSTERS;
    const fromBackground = fromBackgroundOf(direction, this.#background);
    subject.compared.push({ sessionId, direction: isFixed ? undefined : direction, fromBackground });
    addInto(subject.sum, fromBackground);
  }

  #learn({ sessionId, direction }: SubjectCluster): void {
    if (direction === undefined || this.#first.length === BACKGROUND_CLUSTERS) return;
    this.#first.push({ sessionId, direction });
    if (!Number.isInteger(Math.log2(this.#first.length))) return;
    this.#background = backgroundOf(this.#first);
    for (const { compared, sum } of this.#subjects.values()) {
      sum.fill(0);
      for (const cluster of compared) {
        cluster.fromBackground = fromBackgroundOf(cluster.direction!, this.#background);
        addInto(sum, cluster.fromBackground);
      }
    }
  }
}

function fromBackgroundOf(
  direction: Float32Array,
  { center, axes }: Pick<Background, "center" | "axes">,
): Float32Array {
  const fromBackground = difference(direction, center);
  for (const axis of axes) removeAxis(fromBackground, axis);
  return normalize(fromBackground);
}

/** Finds the axes by the power method, one after the other. @param clusters  At least one. */
function backgroundOf(clusters: readonly { sessionId: string; direction: Float32Array }[]): Background {
  const directions = clusters.map(({ direction }) => direction);
  const dimension = directions[0]!.length;
  const sum = new Float64Array(dimension);
  for (const direction of directions) for (let i = 0; i < dimension; i++) sum[i] = sum[i]! + direction[i]!;
  const center = Float32Array.from(sum, (total) => total / (directions.length + CENTER_PRIOR));
  const axisCount = Math.min(
    Math.floor(directions.length / CLUSTERS_PER_AXIS),
    Math.round(dimension / DIMENSIONS_PER_AXIS),
  );
  const left = directions.map((direction) => difference(direction, center));
  const axes: Float32Array[] = [];
  while (axes.length < axisCount) {
    const longest = left.reduce((best, other) => (squaredLength(other) > squaredLength(best) ? other : best));
    let axis = normalize(longest.slice());
    for (let step = 0; step < POWER_STEPS; step++) {
      const next = new Float32Array(dimension);
      for (const vector of left) addScaled(next, vector, dot(vector, axis));
      axis = normalize(next);
    }
    for (const vector of left) removeAxis(vector, axis);
    axes.push(axis);
  }
  const compared = clusters.map(({ sessionId }, index) => ({ sessionId, vector: normalize(left[index]!) }));
  const deviation = deviationOf(compared);
  const similarityMin = Math.min(Math.max(DEVIATIONS_MIN * deviation, SIMILARITY_MIN.least), SIMILARITY_MIN.most);
  return { center, axes, similarityMin };
}

/** The standard deviation of the cosines between clusters of different sessions. Their mean is near 0. */
function deviationOf(clusters: readonly { sessionId: string; vector: Float32Array }[]): number {
  let count = DEVIATION_PRIOR.pairCount;
  let squares = count * DEVIATION_PRIOR.deviation ** 2;
  for (const [index, { sessionId, vector }] of clusters.entries()) {
    for (const other of clusters.slice(0, index)) {
      if (other.sessionId === sessionId) continue;
      squares += dot(vector, other.vector) ** 2;
      count += 1;
    }
  }
  return Math.sqrt(squares / count);
}

function removeAxis(vector: Float32Array, axis: Float32Array): void {
  addScaled(vector, axis, -dot(vector, axis));
}

function addScaled(sum: Float32Array, vector: Float32Array, factor: number): void {
  for (let i = 0; i < sum.length; i++) sum[i] = sum[i]! + factor * vector[i]!;
}

function difference(left: Float32Array, right: Float32Array): Float32Array {
  const result = new Float32Array(left.length);
  for (let i = 0; i < left.length; i++) result[i] = left[i]! - right[i]!; // `map` is ten times slower
  return result;
}

/** One row of the log about a cluster's subject; `id` is its position. */
export interface SubjectRow {
  id: number;
  kind: "start" | "unite" | "dissolve";
  node: number;
  /** The cluster. For `unite`: the root of the subject. */
  root: number;
}

/**
 * Returns the root of each cluster's subject, keyed by cluster. Dissolved clusters are missing. If a row is impossible, it is
 * returned in `refused` with the reason, and later rows are ignored.
 *
 * @param rows  All rows about these clusters, in order of position.
 */
export function subjectRoots(rows: Iterable<SubjectRow>): {
  roots: Map<number, number>;
  refused: { row: SubjectRow; reason: string } | undefined;
} {
  const roots = new Map<number, number>();
  for (const row of rows) {
    const reason = refusal(row, roots.get(row.node));
    if (reason !== undefined) return { roots, refused: { row, reason } };
    if (row.kind === "dissolve") roots.delete(row.node);
    else roots.set(row.node, row.root);
  }
  return { roots, refused: undefined };
}

function refusal({ kind, node, root }: SubjectRow, current: number | undefined): string | undefined {
  if (kind === "start" && current !== undefined) return "the cluster is in a subject already";
  if (kind !== "start" && current === undefined) return "the cluster is in no subject";
  if (kind !== "unite") return node === root ? undefined : `a ${kind} names two clusters`;
  if (node === root) return "a subject cannot absorb itself";
  return current === node ? undefined : "the cluster is in another subject already";
}
