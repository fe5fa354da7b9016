import { assert } from "../core/assert.ts";
import { addInto, dot, normalize } from "../vector/vector.ts";

/** Least mean cosine, past the centre, at which a cluster joins a subject. */
const SIMILARITY_MIN = 0.3;

/** Most of a project's clusters that one subject may hold, and what it may hold however few there are. */
const SHARE_MAX = 0.2;
const CLUSTERS_ALWAYS = 4;

/** The centre is that of a project's first clusters, and of so many at the origin. */
const CENTRE_CLUSTERS = 256;
const CENTRE_PRIOR = 16;

/** A settled cluster, as subjects see it. */
export interface SubjectCluster {
  root: number;
  sessionId: string;
  /** Of its centroid, unit length; undefined where none of its texts has words. */
  direction: Float32Array | undefined;
}

/** Where a cluster went. `root` is its own where it is a subject by itself; then there is no similarity. */
export interface SubjectPlacement {
  root: number;
  similarity: number | undefined;
}

/** A cluster that can be compared. */
interface Placed {
  sessionId: string;
  /** As long as the centre may move. */
  direction: Float32Array | undefined;
  /** Unit length. */
  fromCentre: Float32Array;
}

interface Subject {
  /** Those that can be compared, in the order in which they came. */
  placed: Placed[];
  /** Of `fromCentre`, in that order: the mean cosine with all of them is one product. */
  sum: Float32Array;
  /** All clusters, also those without a direction. */
  clusterCount: number;
}

/**
 * The subjects of one project: clusters of different sessions about the same thing.
 *
 * Leader clustering, like the placement of steps: each settled cluster, in the order in which they settled, joins one
 * subject or starts its own, and that is never revised. So what becomes of a cluster depends only on those before it, and
 * forgetting one concerns only those after it; and a subject keeps its root, the cluster that started it. Letting a
 * newcomer also unite the subjects that it is near to was measured: they grew by half and told no more.
 *
 * A subject is near by the mean cosine with all of its clusters (average linkage), so none grows along a chain of
 * neighbours. The cosine is taken from the project's centre, not from the origin: a project's clusters share its words,
 * and without the common part one threshold serves prose and code, this embedder and another (Mu and Viswanath,
 * "All-but-the-Top", ICLR 2018, subtract the mean likewise). On conversations the median cosine of two clusters is 0.07
 * and on the sessions of one code base 0.25; from the centre it is 0 in both. A centre of few clusters is those clusters
 * themselves, so it is held back by 16 at the origin; after 256 it stays.
 */
export class ProjectSubjects {
  /** By root, in the order in which they started. */
  readonly #subjects = new Map<number, Subject>();
  /** By cluster: the root of its subject. */
  readonly #rootOf = new Map<number, number>();
  /** Of the first clusters with a direction. */
  #directionSum = new Float64Array(0);
  #centreCount = 0;
  #centre = new Float32Array(0);
  /** Whether `#centre` and all that is taken from it are those of the clusters so far. */
  #isCentred = true;

  get clusterCount(): number {
    return this.#rootOf.size;
  }

  get subjectCount(): number {
    return this.#subjects.size;
  }

  /** A cluster that was placed before, in the order of placing. @param subject  The root of its subject. */
  restore(cluster: SubjectCluster, subject: number): void {
    this.#moveCentre(cluster.direction);
    this.#add(cluster, subject);
  }

  /**
   * Decide where the next settled cluster goes: into the nearest subject that holds a cluster of another session near it,
   * or into one of its own. Between equals into the one that started first. No subject grows past a fifth of the
   * project's clusters, unless it has four.
   */
  place(cluster: SubjectCluster): SubjectPlacement {
    this.#moveCentre(cluster.direction);
    const chosen = this.#choose(cluster);
    this.#add(cluster, chosen?.root ?? cluster.root);
    return chosen ?? { root: cluster.root, similarity: undefined };
  }

  #choose({ sessionId, direction }: SubjectCluster): { root: number; similarity: number } | undefined {
    if (direction === undefined) return undefined;
    this.#recentre();
    const fromCentre = this.#fromCentre(direction);
    const sizeMax = Math.max(CLUSTERS_ALWAYS, Math.floor(SHARE_MAX * (this.clusterCount + 1)));
    const isNear = (other: Placed): boolean =>
      other.sessionId !== sessionId && dot(fromCentre, other.fromCentre) >= SIMILARITY_MIN;

    let best: { root: number; similarity: number } | undefined;
    for (const [root, { placed, sum, clusterCount }] of this.#subjects) {
      if (clusterCount >= sizeMax || placed.length === 0) continue;
      const similarity = dot(fromCentre, sum) / placed.length;
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
    const isCentreFixed = this.#centreCount === CENTRE_CLUSTERS;
    if (isCentreFixed) this.#recentre();
    const placed = { sessionId, direction: isCentreFixed ? undefined : direction, fromCentre: direction };
    subject.placed.push(placed);
    if (this.#isCentred) this.#count(subject, placed, direction);
  }

  #moveCentre(direction: Float32Array | undefined): void {
    if (direction === undefined || this.#centreCount === CENTRE_CLUSTERS) return;
    if (this.#centreCount === 0) this.#directionSum = new Float64Array(direction.length);
    for (let i = 0; i < direction.length; i++) this.#directionSum[i] = this.#directionSum[i]! + direction[i]!;
    this.#centreCount += 1;
    this.#isCentred = false;
  }

  /** Take everything from the centre that the clusters so far have. */
  #recentre(): void {
    if (this.#isCentred) return;
    this.#isCentred = true;
    this.#centre = Float32Array.from(this.#directionSum, (sum) => sum / (this.#centreCount + CENTRE_PRIOR));
    for (const subject of this.#subjects.values()) {
      subject.sum = new Float32Array(this.#centre.length);
      for (const placed of subject.placed) this.#count(subject, placed, placed.direction!);
    }
  }

  #count(subject: Subject, placed: Placed, direction: Float32Array): void {
    placed.fromCentre = this.#fromCentre(direction);
    addInto(subject.sum, placed.fromCentre);
  }

  #fromCentre(direction: Float32Array): Float32Array {
    const fromCentre = new Float32Array(direction.length);
    for (let i = 0; i < direction.length; i++) fromCentre[i] = direction[i]! - this.#centre[i]!; // `map` is ten times slower
    return normalize(fromCentre);
  }
}

/** One row of the log about a cluster's place among the subjects; `id` is its position. */
export interface SubjectRow {
  id: number;
  kind: "start" | "unite" | "dissolve";
  /** The cluster. */
  node: number;
  /** Of a unite the root of the subject; otherwise the cluster itself. */
  root: number;
}

/**
 * What the log says of some clusters: by cluster, the root of its subject. One that was dissolved and not placed again has
 * none.
 *
 * @param rows  All that name these clusters as nodes, in order of position.
 * @returns also the first row that cannot have happened after those before it, and why; the rows from there on are left out.
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
