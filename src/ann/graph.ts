import { createRequire } from "node:module";
import type { HierarchicalNSW } from "hnswlib-node";
import { assert } from "../core/damage.ts";

export type Hnswlib = typeof import("hnswlib-node");

/**
 * The parameters of the graph and of a search, measured on 50,000 centroids of the default embedder with short queries.
 * A search with 64 candidates finds 84 % of the ten nearest in 0.2 ms; with 256, 96 % in 0.7 ms; with 512, 98 % in 1.3
 * ms. An exact scan takes 21 ms. With 24 links a search is no better, and adding a point takes 50 % longer.
 */
export const SPACE = "ip"; // 1 - the dot product, which for unit vectors is 1 - the cosine
export const LINKS = 16;
export const EF_CONSTRUCTION = 200;
const EF_SEARCH = 256;

/** The library's default. It decides which layers a point gets. */
const SEED = 100;

/** The library adds in 32 bits. Points whose distances differ by less may be equal, so their numbers are compared. */
const ROUNDING = 1e-6;

/** The search for an equal point looks at this many nearest points. */
const EQUALS = 8;
const EF_EQUALS = 64;

/** A full graph doubles its capacity. */
const CAPACITY_MIN = 4_096;

/** The library's labels have 32 bits and wrap without an error. */
const LABELS_MAX = 2 ** 32;

/** Some points have no cluster, and some are equally near. So a search asks for this many more points than clusters. */
const SPARE = 8;

/** If a search for this many points does not yield enough clusters, all accepted clusters are returned. */
const POINTS_MAX = 250;

/** Returns true if a cluster is wanted. Undefined accepts all clusters. */
export type Accepts = ((root: number) => boolean) | undefined;

let library: Hnswlib | Error | undefined;

/** Returns the native library, or an error that says why it cannot be loaded. Users install it if they want it. */
export function loadHnswlib(): Hnswlib | Error {
  if (library === undefined) {
    try {
      library = createRequire(import.meta.url)("hnswlib-node") as Hnswlib;
    } catch (error) {
      // The other lines list the paths that were tried.
      library = new Error(String(error instanceof Error ? error.message : error).split("\n")[0], { cause: error });
    }
  }
  return library;
}

/**
 * An HNSW graph over centroids (Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
 * hierarchical navigable small world graphs", IEEE TPAMI 42(4), 2020).
 *
 * Each point has a label, counted from 0. Clusters with equal centroids share a point (see `DESIGN.md`). Moving a point
 * is expensive. So a cluster that changes is detached from its point and later added at another.
 */
export class Graph {
  readonly #index: HierarchicalNSW;
  /** For each label, the clusters at that point, oldest first. */
  readonly #roots: number[][];
  readonly #labelOf = new Map<number, number>();

  private constructor(index: HierarchicalNSW, roots: number[][]) {
    this.#index = index;
    this.#roots = roots;
    for (const [label, group] of roots.entries()) for (const root of group) this.#labelOf.set(root, label);
  }

  static empty({ HierarchicalNSW }: Hnswlib, dimension: number): Graph {
    const index = new HierarchicalNSW(SPACE, dimension);
    index.initIndex(CAPACITY_MIN, LINKS, EF_CONSTRUCTION, SEED);
    return new Graph(index, []);
  }

  /**
   * Reads the graph in an index file. Check the file first: the library throws if it was cut off, and may crash on
   * other damage.
   *
   * @param roots  For each label, the clusters at that point, oldest first.
   */
  static read({ HierarchicalNSW }: Hnswlib, dimension: number, path: string, roots: number[][]): Graph {
    // After a failed read, the object crashes later. So each read needs a new one.
    const index = new HierarchicalNSW(SPACE, dimension);
    index.readIndexSync(path);
    return new Graph(index, roots);
  }

  get count(): number {
    return this.#labelOf.size;
  }

  /** True if most points have no cluster. Such points slow down every search, so the graph should be made again. */
  get isWorn(): boolean {
    const emptyCount = this.#roots.filter((group) => group.length === 0).length;
    return 2 * emptyCount > this.#roots.length + CAPACITY_MIN;
  }

  get roots(): readonly (readonly number[])[] {
    return this.#roots;
  }

  has(root: number): boolean {
    return this.#labelOf.has(root);
  }

  /** @param vector  Of unit length. */
  add(root: number, vector: Float32Array): void {
    assert(!this.has(root), "a cluster is detached from the graph before it is added again");
    const numbers = plain(vector);
    const label = this.#equalOf(numbers) ?? this.#addPoint(numbers);
    const group = this.#roots[label]!;
    group.splice(group.findLastIndex((other) => other < root) + 1, 0, root);
    this.#labelOf.set(root, label);
  }

  /** Removes a cluster from its point. The point stays. */
  detach(root: number): void {
    const label = this.#labelOf.get(root);
    if (label === undefined) return;
    const group = this.#roots[label]!;
    group.splice(group.indexOf(root), 1);
    this.#labelOf.delete(root);
  }

  accepted(accepts: Accepts): number[] {
    return this.#roots.flatMap((group) => acceptedOf(group, accepts));
  }

  /**
   * Returns clusters that are probably the `k` nearest of the accepted ones to a vector of unit length. The library's
   * own filter is not used: it ends the process if it throws, and is slow if it accepts little. Instead the graph is
   * asked for more and more points.
   */
  nominate(vector: Float32Array, k: number, accepts: Accepts): number[] {
    const numbers = plain(vector);
    for (let count = k + SPARE; ; count *= 4) {
      const points = this.#search(numbers, count, EF_SEARCH);
      const nominees = points.flatMap(({ label, distance }) =>
        acceptedOf(this.#roots[label]!, accepts, k).map((root) => ({ root, distance })),
      );
      if (nominees.length >= k) {
        // Others may be equally near. The caller orders them by their exact similarity.
        const distanceMax = nominees[k - 1]!.distance + ROUNDING;
        return nominees.filter(({ distance }) => distance <= distanceMax).map(({ root }) => root);
      }
      if (points.length < count || count > POINTS_MAX) return this.accepted(accepts);
    }
  }

  /** Returns the label of the point with exactly these numbers, if one is found. */
  #equalOf(numbers: number[]): number | undefined {
    return this.#search(numbers, EQUALS, EF_EQUALS)
      .filter(({ distance }) => distance <= ROUNDING)
      .map(({ label }) => label)
      .find((label) => this.#index.getPoint(label).every((number, index) => number === numbers[index]));
  }

  #addPoint(numbers: number[]): number {
    const label = this.#roots.length;
    assert(label < LABELS_MAX, "a graph's labels fit into 32 bits");
    if (label === this.#index.getMaxElements()) this.#index.resizeIndex(2 * label);
    this.#index.addPoint(numbers, label);
    this.#roots.push([]);
    return label;
  }

  /** Returns at most `count` points nearest to a vector, best first. A distance is 1 - the cosine, in 32 bits. */
  #search(numbers: number[], count: number, ef: number): { label: number; distance: number }[] {
    const wanted = Math.min(count, this.#roots.length);
    if (wanted === 0) return [];
    this.#index.setEf(Math.max(ef, wanted)); // a load resets it to 10
    const { neighbors, distances } = this.#index.searchKnn(numbers, wanted);
    return neighbors.map((label, index) => ({ label, distance: distances[index]! }));
  }

  /** Writes the index. No point may be added before the promise resolves. The library reports success even if the disk is full. */
  async writeTo(path: string): Promise<void> {
    await this.#index.writeIndex(path);
    // The library's worker holds only the object's address, so this use keeps the object alive during the write.
    assert(this.#index.getCurrentCount() === this.#roots.length, "nothing is added to a graph while it is written");
  }
}

function acceptedOf(roots: readonly number[], accepts: Accepts, countMax = roots.length): readonly number[] {
  if (accepts === undefined) return roots.slice(0, countMax);
  const accepted: number[] = [];
  for (const root of roots) {
    if (accepted.length === countMax) break;
    if (accepts(root)) accepted.push(root);
  }
  return accepted;
}

/** The library takes only arrays. `Array.from` is 14 times slower than this loop. */
function plain(vector: Float32Array): number[] {
  const numbers = new Array<number>(vector.length);
  for (let i = 0; i < vector.length; i++) numbers[i] = vector[i]!;
  return numbers;
}
