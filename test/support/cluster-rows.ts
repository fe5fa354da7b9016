import type { Centroid, CentroidSource, CentroidStamp, IndexedStore } from "../../src/ann/centroid-source.ts";
import { normalize } from "../../src/vector/vector.ts";

interface Row {
  position: number;
  settled: boolean;
  vector: Float32Array;
}

/** The clusters of a store without a store: two ports over a map, and a log that is only counted. */
export class ClusterRows implements CentroidSource, IndexedStore {
  readonly path: string;
  readonly readonly: boolean;
  readonly #shared: Shared;

  /** @param shared  Of another one: then it is the same store, opened again. */
  constructor(path: string, options: { dimension?: number; readonly?: boolean; shared?: ClusterRows } = {}) {
    this.path = path;
    this.readonly = options.readonly ?? false;
    if (options.shared !== undefined) this.#shared = options.shared.#shared;
    else {
      const { dimension = 2 } = options;
      const stamp = { generation: 1, createdAtMs: 7, embedderId: "e", dimension, rewriteCount: 0 };
      this.#shared = { rows: new Map(), log: [], position: 0, stamp };
    }
  }

  get rows(): ReadonlyMap<number, Row> {
    return this.#shared.rows;
  }

  /** A cluster is started, or takes a member: its centroid is another from now on. */
  change(root: number, vector: readonly number[], { settled = false } = {}): void {
    this.#log(root);
    this.#shared.rows.set(root, {
      position: this.#shared.position,
      settled,
      vector: normalize(Float32Array.from(vector)),
    });
  }

  settle(root: number): void {
    this.#log(root);
    this.#shared.rows.set(root, { ...this.#shared.rows.get(root)!, settled: true });
  }

  /** Rows of the log that are about no cluster. */
  pass(count: number): void {
    this.#shared.position += count;
  }

  /** As `forget` does it, or `verify --rebuild` where nothing goes. */
  forget(roots: Iterable<number>): void {
    for (const root of roots) this.#shared.rows.delete(root);
    this.#shared.stamp = { ...this.#shared.stamp, rewriteCount: this.#shared.stamp.rewriteCount + 1 };
  }

  stamp(): CentroidStamp {
    return this.#shared.stamp;
  }

  newestPosition(): number {
    return this.#shared.position;
  }

  clusterCount(): number {
    return this.rows.size;
  }

  roots(): number[] {
    return [...this.rows.keys()];
  }

  changedSince(position: number): number[] {
    const changed = this.#shared.log.filter((entry) => entry.position > position).map(({ root }) => root);
    return [...new Set(changed)].filter((root) => this.rows.has(root));
  }

  *centroids(roots: Iterable<number>): Generator<Centroid> {
    for (const root of roots) {
      const row = this.rows.get(root);
      if (row?.vector.some((value) => value !== 0)) yield { root, ...row, vector: row.vector.slice() };
    }
  }

  everyCentroid(): Generator<Centroid> {
    return this.centroids(this.roots().sort((left, right) => left - right));
  }

  guard<T>(query: () => T): T {
    return query();
  }

  read<T>(query: () => T): T {
    return query();
  }

  write<T>(_operation: string, change: () => T): T {
    return change();
  }

  #log(root: number): void {
    this.#shared.position += 1;
    this.#shared.log.push({ position: this.#shared.position, root });
  }
}

interface Shared {
  rows: Map<number, Row>;
  log: { position: number; root: number }[];
  position: number;
  stamp: CentroidStamp;
}
