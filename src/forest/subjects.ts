import { assert } from "../core/assert.ts";
import { addInto, dot, normalize } from "../vector/vector.ts";

/** The least mean cosine, measured from the center, at which a cluster joins a subject. */
const SIMILARITY_MIN = 0.3;

/** The share of a project's clusters that one subject may hold, and the number that it may always hold. */
const SHARE_MAX = 0.2;
const CLUSTERS_ALWAYS = 4;

/** The center is the mean of a project's first 256 clusters, and of 16 at the origin. */
const CENTER_CLUSTERS = 256;
const CENTER_PRIOR = 16;

/** A settled cluster. */
export interface SubjectCluster {
  root: number;
  sessionId: string;
  /** The direction of its centroid, of unit length; undefined if none of its texts has words. */
  direction: Float32Array | undefined;
}

/** The subject of a cluster. If it started one, `root` is its own and there is no similarity. */
export interface SubjectPlacement {
  root: number;
  similarity: number | undefined;
}

/** A cluster that can be compared. */
interface Placed {
  sessionId: string;
  /** Kept as long as the center may move. */
  direction: Float32Array | undefined;
  /** Of unit length. */
  fromCenter: Float32Array;
}

interface Subject {
  /** The clusters that can be compared, in the order in which they came. */
  placed: Placed[];
  /** The sum of their `fromCenter`, in that order. The mean cosine with all of them is one product with it. */
  sum: Float32Array;
  /** The number of all clusters, also those without a direction. */
  clusterCount: number;
}

/**
 * The subjects of one project: clusters of different sessions about the same thing.
 *
 * This is leader clustering, like the placement of steps. The settled clusters, in the order in which they settled, each
 * join one subject or start their own, and that is never revised. So the subject of a cluster depends only on the clusters
 * before it, and a subject keeps its root, the cluster that started it. Letting a cluster also unite the subjects near it
 * was measured: the subjects grew by half and were no better.
 *
 * The similarity is the mean cosine with all clusters of the subject (average linkage), so that no subject grows along a
 * chain of neighbors. The cosine is measured from the project's center, not from the origin. A project's clusters share its
 * words; without the common part one threshold serves prose and code, and any embedder (Mu and Viswanath,
 * "All-but-the-Top", ICLR 2018, also subtract the mean). The median cosine of two clusters is 0.07 in conversations and
 * 0.25 in the sessions of one code base; from the center it is 0 in both. The mean of few clusters would be those clusters
 * themselves, so 16 clusters at the origin hold the center back. After 256 clusters it stays.
 */
export class ProjectSubjects {
  /** By root, in the order in which they started. */
  readonly #subjects = new Map<number, Subject>();
  /** By cluster: the root of its subject. */
  readonly #rootOf = new Map<number, number>();
  /** The sum of the directions of the first clusters. */
  #directionSum = new Float64Array(0);
  #centerCount = 0;
  #center = new Float32Array(0);
  /** True if `#center`, and everything computed from it, includes all clusters so far. */
  #isCenterd = true;

  get clusterCount(): number {
    return this.#rootOf.size;
  }

  get subjectCount(): number {
    return this.#subjects.size;
  }

  /** Adds a cluster that was assigned before, in the order of assignment. @param subject  The root of its subject. */
  restore(cluster: SubjectCluster, subject: number): void {
    this.#moveCenter(cluster.direction);
    this.#add(cluster, subject);
  }

  /**
   * Assigns the next settled cluster to the nearest subject that has a near cluster of another session, or to a new one.
   * Between equals the subject that started first wins. No subject grows past a fifth of the project's clusters, unless it
   * has four or fewer.
   */
  place(cluster: SubjectCluster): SubjectPlacement {
    this.#moveCenter(cluster.direction);
    const chosen = this.#choose(cluster);
    this.#add(cluster, chosen?.root ?? cluster.root);
    return chosen ?? { root: cluster.root, similarity: undefined };
  }

  #choose({ sessionId, direction }: SubjectCluster): { root: number; similarity: number } | undefined {
    if (direction === undefined) return undefined;
    this.#recenter();
    const fromCenter = this.#fromCenter(direction);
    const sizeMax = Math.max(CLUSTERS_ALWAYS, Math.floor(SHARE_MAX * (this.clusterCount + 1)));
    const isNear = (other: Placed): boolean =>
      other.sessionId !== sessionId && dot(fromCenter, other.fromCenter) >= SIMILARITY_MIN;

    let best: { root: number; similarity: number } | undefined;
    for (const [root, { placed, sum, clusterCount }] of this.#subjects) {
      if (clusterCount >= sizeMax || placed.length === 0) continue;
      const similarity = dot(fromCenter, sum) / placed.length;
      if (similarity < SIMILARITY_MIN || similarity <= (best?.similarity ?? -1) || !placed.some(isNear)) continue;
      best = { root, similarity };
    }
    return best;
  }

  #add({ root, sessionId, direction }: SubjectCluster, subjectRoot: number): void {
    assert(
      subjectRoot === root || this.#rootOf.get(subjectRoot) === subjectRoot,
      "a cluster joins a subject by its root",
    );
    this.#rootOf.set(root, subjectRoot);
    const subject = this.#subjects.get(subjectRoot) ?? {
      placed: [],
      sum: new Float32Array(this.#directionSum.length),
      clusterCount: 0,
    };
    this.#subjects.set(subjectRoot, subject);
    subject.clusterCount += 1;
    if (direction === undefined) return;
    const isCenterFixed = this.#centerCount === CENTER_CLUSTERS;
    if (isCenterFixed) this.#recenter();
    const placed = { sessionId, direction: isCenterFixed ? undefined : direction, fromCenter: direction };
    subject.placed.push(placed);
    if (this.#isCenterd) this.#count(subject, placed, direction);
  }

  #moveCenter(direction: Float32Array | undefined): void {
    if (direction === undefined || this.#centerCount === CENTER_CLUSTERS) return;
    if (this.#centerCount === 0) this.#directionSum = new Float64Array(direction.length);
    for (let i = 0; i < direction.length; i++) this.#directionSum[i] = this.#directionSum[i]! + direction[i]!;
    this.#centerCount += 1;
    this.#isCenterd = false;
  }

  /** Computes everything again from the center of the clusters so far. */
  #recenter(): void {
    if (this.#isCenterd) return;
    this.#isCenterd = true;
    this.#center = Float32Array.from(this.#directionSum, (sum) => sum / (this.#centerCount + CENTER_PRIOR));
    for (const subject of this.#subjects.values()) {
      subject.sum = new Float32Array(this.#center.length);
      for (const placed of subject.placed) this.#count(subject, placed, placed.direction!);
    }
  }

  #count(subject: Subject, placed: Placed, direction: Float32Array): void {
    placed.fromCenter = this.#fromCenter(direction);
    addInto(subject.sum, placed.fromCenter);
  }

  #fromCenter(direction: Float32Array): Float32Array {
    const fromCenter = new Float32Array(direction.length);
    for (let i = 0; i < direction.length; i++) fromCenter[i] = direction[i]! - this.#center[i]!; // `map` is ten times slower
    return normalize(fromCenter);
  }
}

/** One row of the log about the subject of a cluster; `id` is its position. */
export interface SubjectRow {
  id: number;
  kind: "start" | "unite" | "dissolve";
  /** The cluster. */
  node: number;
  /** With `unite` the root of the subject; otherwise the cluster itself. */
  root: number;
}

/**
 * Returns, by cluster, the root of its subject as the log says it. A cluster that was dissolved and not assigned again has
 * none.
 *
 * @param rows  All rows that name these clusters as nodes, in order of position.
 * @returns also the first row that cannot have happened after those before it, and why. Later rows are left out.
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
