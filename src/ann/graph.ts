import type { HierarchicalNSW } from "hnswlib-node";
import { assert } from "../core/assert.ts";
import type { Hnswlib } from "./hnswlib.ts";

/**
 * The form of the graph, and how widely it is searched. Measured on 50,000 centroids of the default embedder, with texts of a
 * dozen words as queries; an exact scan takes 21 ms. With 16 links, 64 candidates find 84 % of the ten nearest in 0.2 ms,
 * 256 find 96 % in 0.7 ms, and 512 find 98 % in 1.3 ms. With 24 links, a search finds as many in the same time, but adding a
 * point takes 50 % longer.
 */
export const SPACE = "ip"; // 1 - the dot product, which for unit vectors is 1 - the cosine
export const LINKS = 16;
export const EF_CONSTRUCTION = 200;
const EF_SEARCH = 256;

/** The library's default. It decides which layers a point gets. */
const SEED = 100;

/**
 * The distance up to which two points may be equal. The library adds in 32 bits, so the numbers of such points are compared.
 *
 * Equal clusters share a point. The same few words, said in a thousand sessions, make a thousand equal centroids, and a graph
 * whose points have only equal neighbors falls apart. With 4,000 equal clusters among 8,000, it found 39 % of the nearest.
 */
const EQUAL_DISTANCE_MAX = 1e-6;

/** The number of nearest points among which an equal one is looked for, and of candidates in that search. */
const EQUALS = 8;
const EF_EQUALS = 64;

/** Points that an empty graph has room for. A full graph doubles its room. */
export const CAPACITY_MIN = 4_096;

/** Labels are 32 bits wide in the library's interface, and wrap silently. */
const LABELS_MAX = 2 ** 32;

/** A point of the graph that is near a query. */
export interface Nominee {
  /** The clusters at this point, oldest first. Empty if they have changed since, or are gone. */
  roots: readonly number[];
  /** 1 - the cosine, in 32 bits. */
  distance: number;
}

/**
 * An HNSW graph over centroids (Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using
 * hierarchical navigable small world graphs", IEEE TPAMI 42(4), 2020).
 *
 * Moving a point is expensive. So a cluster that changes is detached from its label, and gets another label when it is added
 * again. Labels count up from 0.
 */
export class Graph {
  readonly #index: HierarchicalNSW;
  /** For each label, the clusters at that point, oldest first. */
  readonly #roots: number[][];
  readonly #labelOf = new Map<number, number>();

  /** @param roots  For each point of the index, its clusters. */
  constructor(index: HierarchicalNSW, roots: number[][]) {
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
   * Reads the graph in an index file. The file must have been checked: the library crashes on damaged ones.
   *
   * @throws if the file cannot be read, or holds another number of points.
   */
  static read({ HierarchicalNSW }: Hnswlib, dimension: number, path: string, roots: number[][]): Graph {
    // Each read needs a new object, because an object that has failed to read crashes later.
    const index = new HierarchicalNSW(SPACE, dimension);
    index.readIndexSync(path);
    const count = index.getCurrentCount();
    if (count !== roots.length) throw new Error(`it holds ${count} points, not ${roots.length}`);
    return new Graph(index, roots);
  }

  /** The number of clusters it can nominate. */
  get count(): number {
    return this.#labelOf.size;
  }

  /** True if most points have no cluster. They cost time in every search, so the graph should be made again. */
  get isWorn(): boolean {
    const emptyCount = this.#roots.filter((group) => group.length === 0).length;
    return 2 * emptyCount > this.#roots.length + CAPACITY_MIN;
  }

  /** For each label, the clusters at that point, oldest first. */
  get roots(): readonly (readonly number[])[] {
    return this.#roots;
  }

  has(root: number): boolean {
    return this.#labelOf.has(root);
  }

  /** @param vector  Of unit length. */
  add(root: number, vector: Float32Array): void {
    assert(!this.has(root), "a cluster is left out of the graph before it is added again");
    const numbers = plain(vector);
    const label = this.#equalOf(numbers) ?? this.#addPoint(numbers);
    const group = this.#roots[label]!;
    group.splice(group.findLastIndex((other) => other < root) + 1, 0, root);
    this.#labelOf.set(root, label);
  }

  /** Detaches a cluster from its label. */
  leaveOut(root: number): void {
    const label = this.#labelOf.get(root);
    if (label === undefined) return;
    const group = this.#roots[label]!;
    group.splice(group.indexOf(root), 1);
    this.#labelOf.delete(root);
  }

  /** Returns at most `count` points nearest to a vector of unit length, best first. */
  nominate(vector: Float32Array, count: number): Nominee[] {
    return this.#search(plain(vector), count, EF_SEARCH).map(({ label, distance }) => ({
      roots: this.#roots[label]!,
      distance,
    }));
  }

  /** Returns the label of the point with exactly these numbers; undefined if none is found. */
  #equalOf(numbers: number[]): number | undefined {
    return this.#search(numbers, EQUALS, EF_EQUALS)
      .filter(({ distance }) => distance <= EQUAL_DISTANCE_MAX)
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

  #search(numbers: number[], count: number, ef: number): { label: number; distance: number }[] {
    const wanted = Math.min(count, this.#roots.length);
    if (wanted === 0) return [];
    this.#index.setEf(Math.max(ef, wanted)); // a load resets it to 10
    const { neighbors, distances } = this.#index.searchKnn(numbers, wanted);
    return neighbors.map((label, index) => ({ label, distance: distances[index]! }));
  }

  /** Writes the index. No point may be added meanwhile. The library reports success even if the disk is full. */
  async writeTo(path: string): Promise<void> {
    await this.#index.writeIndex(path);
    // This use keeps the object alive during the write: the library's worker holds only its address.
    assert(this.#index.getCurrentCount() === this.#roots.length, "nothing is added to a graph while it is written");
  }
}

/** Returns an array, because the library takes nothing else. `Array.from` takes 14 times as long as this loop. */
function plain(vector: Float32Array): number[] {
  const numbers = new Array<number>(vector.length);
  for (let i = 0; i < vector.length; i++) numbers[i] = vector[i]!;
  return numbers;
}
