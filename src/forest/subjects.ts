import { assert } from "../core/damage.ts";
import { addInto, dot, normalize } from "../vector/vector.ts";

const DAY_MS = 86_400_000;

/**
 * A cluster joins a subject only if their mean cosine is this many standard deviations of the project's cosines, within these
 * limits. That is about 0.3 in chats and 0.5 in coding sessions, whose clusters share more words.
 */
const DEVIATIONS = 3;
const SIMILARITY_MIN = 0.3;
const SIMILARITY_MAX = 0.75;

/** The mean square of the cosines in a new project, and the number of pairs for which it counts. */
const SQUARE_PRIOR = (SIMILARITY_MIN / DEVIATIONS) ** 2;
const PAIRS_PRIOR = 64;

/**
 * One pair in 37 is measured, so at most 880. A prime, because sessions that settle in turns would otherwise be compared with
 * themselves only.
 */
const PAIR_STRIDE = 37;

/**
 * A subject that has rested for some days asks for more: what the project's threshold has above `SIMILARITY_MIN` grows by this share times
 * log2(1 + days), and by `GROWTH_MAX` at most.
 */
const GROWTH = 0.5;
const GROWTH_MAX = 1.25;

/** A subject may hold this share of a project's clusters, or this number if it is larger. */
const SHARE_MAX = 0.2;
const CLUSTERS_ALWAYS = 4;

/** The center is the mean of a project's first 256 clusters and of 16 zero vectors. */
const CENTER_CLUSTERS = 256;
const CENTER_PRIOR = 16;

export interface SubjectCluster {
  root: number;
  sessionId: string;
  lastAtMs: number;
  /** The centroid at unit length; undefined if no text of the cluster has words. */
  direction: Float32Array | undefined;
}

export interface SubjectAssignment {
  root: number;
  similarity: number | undefined;
}

interface ComparedCluster {
  sessionId: string;
  lastAtMs: number;
  /** Kept until the center is fixed. */
  direction: Float32Array | undefined;
  fromCenter: Float32Array;
}

interface Subject {
  compared: ComparedCluster[];
  /** The sum of all `fromCenter`. Its product with a vector, divided by the count, is the mean cosine. */
  sum: Float32Array;
  /** Includes clusters without a direction. */
  clusterCount: number;
}

/**
 * The subjects of one project. Clusters are assigned in the order in which they settled, and never reassigned (leader
 * clustering). So a cluster's subject depends only on earlier clusters.
 *
 * A cluster is compared with all clusters of a subject, so a subject cannot grow along a chain of neighbors. Clusters
 * of one project share words. So cosines are measured from the project's center (Mu and Viswanath, "All-but-the-Top", ICLR 2018),
 * and the threshold is taken from their spread. Without the 16 zero vectors, the center of a new project would lie on its first
 * clusters.
 */
export class ProjectSubjects {
  /** Keyed by root, in the order in which they started. */
  readonly #subjects = new Map<number, Subject>();
  #clusterCount = 0;
  #directionSum = new Float64Array(0);
  #centerCount = 0;
  #center = new Float32Array(0);
  /** Between `SIMILARITY_MIN` and `SIMILARITY_MAX`. */
  #similarityMin = SIMILARITY_MIN;
  /** False if clusters were added to the center since it was computed. */
  #isCentered = true;

  get clusterCount(): number {
    return this.#clusterCount;
  }

  get subjectCount(): number {
    return this.#subjects.size;
  }

  /** Adds a cluster that is already assigned. Call it in the order of assignment. @param subject  A root. */
  restore(cluster: SubjectCluster, subject: number): void {
    this.#moveCenter(cluster.direction);
    this.#add(cluster, subject);
  }

  /**
   * Assigns the next settled cluster to the subject whose similarity is furthest above what is asked, or to a new one. A subject needs a
   * near cluster of another session and room for one more cluster. Of equals, the oldest wins.
   */
  assign(cluster: SubjectCluster): SubjectAssignment {
    this.#moveCenter(cluster.direction);
    const chosen = this.#choose(cluster);
    this.#add(cluster, chosen?.root ?? cluster.root);
    return chosen ?? { root: cluster.root, similarity: undefined };
  }

  #choose({ sessionId, lastAtMs, direction }: SubjectCluster): { root: number; similarity: number } | undefined {
    if (direction === undefined) return undefined;
    this.#recenter();
    const fromCenter = this.#fromCenter(direction);
    const sizeMax = Math.max(CLUSTERS_ALWAYS, Math.floor(SHARE_MAX * (this.clusterCount + 1)));
    const isNear = (other: ComparedCluster): boolean =>
      other.sessionId !== sessionId && dot(fromCenter, other.fromCenter) >= this.#similarityMin;

    let best: { root: number; similarity: number } | undefined;
    let surplusMax = 0;
    for (const [root, { compared, sum, clusterCount }] of this.#subjects) {
      if (clusterCount >= sizeMax || compared.length === 0) continue;
      const similarity = dot(fromCenter, sum) / compared.length;
      if (similarity < this.#similarityMin) continue;
      let restedMs = Number.POSITIVE_INFINITY;
      for (const other of compared) restedMs = Math.min(restedMs, Math.abs(lastAtMs - other.lastAtMs));
      const surplus = similarity - this.#asked(restedMs / DAY_MS);
      if (surplus < 0 || (best !== undefined && surplus <= surplusMax) || !compared.some(isNear)) continue;
      best = { root, similarity };
      surplusMax = surplus;
    }
    return best;
  }

  #add({ root, sessionId, lastAtMs, direction }: SubjectCluster, subjectRoot: number): void {
    assert(subjectRoot === root || this.#subjects.has(subjectRoot), "a cluster joins a subject by its root");
    this.#clusterCount += 1;
    const sum = new Float32Array(this.#directionSum.length);
    const subject = this.#subjects.get(subjectRoot) ?? { compared: [], sum, clusterCount: 0 };
    this.#subjects.set(subjectRoot, subject);
    subject.clusterCount += 1;
    if (direction === undefined) return;
    const isCenterFixed = this.#centerCount === CENTER_CLUSTERS;
    if (isCenterFixed) this.#recenter();
    const compared = { sessionId, lastAtMs, direction: isCenterFixed ? undefined : direction, fromCenter: direction };
    subject.compared.push(compared);
    if (this.#isCentered) this.#count(subject, compared, direction);
  }

  #moveCenter(direction: Float32Array | undefined): void {
    if (direction === undefined || this.#centerCount === CENTER_CLUSTERS) return;
    if (this.#centerCount === 0) this.#directionSum = new Float64Array(direction.length);
    for (let i = 0; i < direction.length; i++) this.#directionSum[i] = this.#directionSum[i]! + direction[i]!;
    this.#centerCount += 1;
    this.#isCentered = false;
  }

  #recenter(): void {
    if (this.#isCentered) return;
    this.#isCentered = true;
    this.#center = Float32Array.from(this.#directionSum, (sum) => sum / (this.#centerCount + CENTER_PRIOR));
    for (const subject of this.#subjects.values()) {
      subject.sum = new Float32Array(this.#center.length);
      for (const compared of subject.compared) this.#count(subject, compared, compared.direction!);
    }
    this.#similarityMin = this.#measureSpread();
  }

  /** Returns the least similarity with a subject that has rested for some days. */
  #asked(days: number): number {
    const growth = Math.min(GROWTH_MAX, GROWTH * Math.log2(1 + days));
    return Math.min(SIMILARITY_MAX, SIMILARITY_MIN + (this.#similarityMin - SIMILARITY_MIN) * (1 + growth));
  }

  /** Returns the threshold that the spread of the cosines between clusters of different sessions asks for. */
  #measureSpread(): number {
    const compared = [...this.#subjects.values()].flatMap((subject) => subject.compared);
    let squareSum = PAIRS_PRIOR * SQUARE_PRIOR;
    let pairCount = PAIRS_PRIOR;
    for (let i = 1; i < compared.length; i++) {
      for (let j = i % PAIR_STRIDE; j < i; j += PAIR_STRIDE) {
        if (compared[i]!.sessionId === compared[j]!.sessionId) continue;
        squareSum += dot(compared[i]!.fromCenter, compared[j]!.fromCenter) ** 2;
        pairCount += 1;
      }
    }
    return Math.min(SIMILARITY_MAX, Math.max(SIMILARITY_MIN, DEVIATIONS * Math.sqrt(squareSum / pairCount)));
  }

  #count(subject: Subject, compared: ComparedCluster, direction: Float32Array): void {
    compared.fromCenter = this.#fromCenter(direction);
    addInto(subject.sum, compared.fromCenter);
  }

  #fromCenter(direction: Float32Array): Float32Array {
    const fromCenter = new Float32Array(direction.length);
    for (let i = 0; i < direction.length; i++) fromCenter[i] = direction[i]! - this.#center[i]!; // `map` is ten times slower
    return normalize(fromCenter);
  }
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
