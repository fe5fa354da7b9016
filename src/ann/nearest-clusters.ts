import { setImmediate as nextTurn } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { StoreError } from "../core/errors.ts";
import { dot } from "../vector/vector.ts";
import { Best, type NearCluster } from "./best.ts";
import type { Centroid, CentroidSource, CentroidStamp, IndexedStore } from "./centroid-source.ts";
import { type Accepts, Graph, type Hnswlib, loadHnswlib } from "./graph.ts";
import { IndexFile, type LoadedIndex, type SaveFailure } from "./index-file.ts";

/** With this many stable clusters, a graph is worth its cost. Comparing them takes a third of a millisecond. */
const CARRY_MIN = 1_000;

/** The most clusters that one call carries: 2 s of work for an empty graph, 5 s for one of 50,000. */
const CARRY_MAX = 4_096;

/**
 * The clusters carried in one turn of the event loop: 3 ms in a small graph, 9 ms in one of 50,000. Saving takes one
 * turn: 10 ms for 4,000 clusters, 90 ms for 50,000.
 */
const CARRY_PER_TURN = 8;

/** An open cluster counts as stable after this many rows of the log without a change. */
const STABLE_AFTER_ROWS = 2_000;

export interface NearestOptions {
  /** The most clusters to return, from 1. */
  k: number;
  /** True to compare every cluster. */
  exact?: boolean;
  accepts?: Accepts;
}

export interface IndexState {
  indexedCount: number;
  comparedCount: number;
  /** Stable clusters that are compared one by one and could be in the graph. */
  waitingCount: number;
  isWorthIndexing: boolean;
  /** Why the native library could not be loaded; undefined if it was loaded or is not needed. */
  libraryError: string | undefined;
  /** Why the index file was not used. */
  refusal: string | undefined;
  /** Why this process could not write the index file at its last try. */
  saveFailure: SaveFailure | undefined;
}

/** All clusters in memory, at a log position. Each is in the table or in the graph. */
interface LoadedClusters {
  stamp: CentroidStamp;
  position: number;
  /** Clusters that are compared one by one, keyed by root. A cluster of 384 dimensions takes 2 KB. */
  table: Map<number, Centroid>;
  graph: Graph | undefined;
  /** The clusters of the graph, keyed by root, once an exact search has read them. */
  carried: Map<number, Centroid> | undefined;
  /** True if the graph has clusters that no file has. */
  isUnsaved: boolean;
  /** The version of the index file that was last read or written. */
  fileVersion: string | undefined;
  refusal: string | undefined;
}

/**
 * Finds the clusters of a store that are nearest to a vector.
 *
 * A cluster is **stable** if it has settled, or has not changed for 2,000 rows of the log. Writers carry stable
 * clusters into a graph in the background. All other clusters are in a table and are compared one by one. If a stable
 * cluster changes, the next search reads that in the log and moves the cluster back to the table. So every cluster is
 * found at once, and an append costs nothing here.
 *
 * The graph only nominates. Every similarity is the exact cosine with the centroid in the store. Without the native
 * library or a fitting index file, the table holds every cluster, and searches are slower. `bench -- recall` measures
 * how many of the ten nearest the graph misses.
 *
 * Call no method inside a transaction that may be rolled back.
 */
export class NearestClusters {
  readonly #source: CentroidSource;
  readonly #store: IndexedStore;
  readonly #file: IndexFile | undefined;
  readonly #loadLibrary: () => Hnswlib | Error;
  #loaded: LoadedClusters | undefined;
  /** True after the first search. The clusters then stay in memory. */
  #isAsked = false;
  #isCarrying = false;
  #saveFailure: SaveFailure | undefined;

  constructor(source: CentroidSource, store: IndexedStore, loadLibrary: () => Hnswlib | Error = loadHnswlib) {
    this.#source = source;
    this.#store = store;
    this.#file = store.path === ":memory:" ? undefined : new IndexFile(store.path);
    this.#loadLibrary = loadLibrary;
  }

  /**
   * @param vector  Of unit length, and of the generation's dimension.
   * @returns at most `k` clusters, best first. If two are equally near, the older root comes first.
   * @throws {StoreError} `STORE_CORRUPT`, `STORE_CLOSED`, and what `accepts` throws.
   */
  nearest(vector: Float32Array, { k, exact = false, accepts }: NearestOptions): NearCluster[] {
    this.#isAsked = true;
    return this.#store.read(() => {
      const loaded = this.#catchUp();
      if (loaded === undefined) return [];
      const best = new Best(k);
      const compare = (centroids: Iterable<Centroid>): void => {
        for (const { root, vector: other } of centroids) {
          if (accepts?.(root) ?? true) best.offer(root, dot(other, vector));
        }
      };
      if (loaded.graph !== undefined && loaded.graph.count > 0) {
        compare(exact ? this.#carriedOf(loaded).values() : this.#nominated(loaded, loaded.graph, vector, k, accepts));
      }
      compare(loaded.table.values());
      return best.list();
    });
  }

  /** Returns the clusters that the graph nominates. If the store lacks one, the graph is wrong, and all clusters are compared. */
  #nominated(
    loaded: LoadedClusters,
    graph: Graph,
    vector: Float32Array,
    k: number,
    accepts: NearestOptions["accepts"],
  ): Centroid[] {
    const roots = graph.nominate(vector, k, accepts);
    const found = [...this.#source.centroids(roots)];
    if (found.length === roots.length) return found;
    this.#leaveGraph(loaded);
    return [];
  }

  /** Puts all clusters into the table. @throws {StoreError} `STORE_CORRUPT` if the store lacks one. Call it in a read. */
  #leaveGraph(loaded: LoadedClusters): void {
    for (const centroid of this.#source.everyCentroid()) loaded.table.set(centroid.root, centroid);
    loaded.graph = undefined;
    loaded.carried = undefined;
  }

  /**
   * Carries stable clusters into the graph if there are enough of them, and saves the graph. It yields to the event
   * loop regularly. It does nothing in a reader, or while another call runs.
   *
   * If the file cannot be written, `state` says why. A damaged row is skipped; `nearest` and the doctor report it.
   *
   * @throws the signal's reason when it is aborted.
   */
  async carry(signal: AbortSignal): Promise<void> {
    if (this.#store.readonly || this.#isCarrying) return;
    this.#isCarrying = true;
    try {
      await this.#carry(signal);
    } catch (error) {
      if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
    } finally {
      this.#isCarrying = false;
    }
  }

  /** Returns the clusters of the graph. They stay in memory, as they would without an index. */
  #carriedOf(loaded: LoadedClusters): Map<number, Centroid> {
    if (loaded.carried === undefined) {
      const inGraph = [...this.#source.everyCentroid()].filter(({ root }) => loaded.graph?.has(root));
      loaded.carried = new Map(inGraph.map((centroid) => [centroid.root, centroid]));
    }
    return loaded.carried;
  }

  /** Deletes the index file after messages were forgotten. @returns true if no file holds their clusters. */
  forget(): boolean {
    this.#loaded = undefined;
    const stamp = this.#store.read(() => this.#source.stamp());
    return stamp === undefined || this.#file === undefined || this.#file.removeUnfit(stamp, { pending: true });
  }

  state(): IndexState {
    const loaded = this.#store.read(() => this.#catchUp());
    const indexedCount = loaded?.graph?.count ?? 0;
    const waitingCount = loaded === undefined ? 0 : stableIn(loaded).length;
    const isWorthIndexing = indexedCount + waitingCount >= CARRY_MIN;
    const library = isWorthIndexing ? this.#loadLibrary() : undefined;
    return {
      indexedCount,
      comparedCount: loaded?.table.size ?? 0,
      waitingCount,
      isWorthIndexing,
      libraryError: library instanceof Error ? library.message : undefined,
      refusal: loaded?.refusal,
      saveFailure: this.#saveFailure,
    };
  }

  async #carry(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const isWorthLoading = await this.#isWorthLoading();
    signal.throwIfAborted();
    const loaded = isWorthLoading ? this.#store.read(() => this.#catchUp()) : undefined;
    if (loaded === undefined) return;
    if (loaded.graph?.isWorn) {
      this.#store.read(() => this.#leaveGraph(loaded));
    }
    const waiting = stableIn(loaded);
    if (waiting.length < CARRY_MIN && !(await this.#isFileMissing(loaded))) return;
    signal.throwIfAborted();
    const library = this.#loadLibrary();
    if (library instanceof Error) return;
    for (const [index, root] of waiting.slice(0, CARRY_MAX).entries()) {
      if (index % CARRY_PER_TURN === 0) {
        await nextTurn();
        signal.throwIfAborted();
        // If the clusters were loaded again, the next call carries them.
        if (this.#store.read(() => this.#catchUp()) !== loaded) return;
      }
      const centroid = loaded.table.get(root);
      if (centroid === undefined || !isStable(centroid, loaded)) continue;
      loaded.graph ??= Graph.empty(library, loaded.stamp.dimension);
      loaded.graph.add(root, centroid.vector);
      loaded.carried?.set(root, centroid);
      loaded.isUnsaved = true;
      loaded.table.delete(root);
    }
    await this.#save(loaded, library);
  }

  /**
   * Returns true if there may be enough clusters to carry. It does not load them, because most processes append and
   * never search. It also deletes a file of forgotten clusters if the process that forgot them was killed.
   */
  async #isWorthLoading(): Promise<boolean> {
    const { stamp, count } = this.#store.read(() => ({
      stamp: this.#source.stamp(),
      count: this.#source.clusterCount(),
    }));
    if (stamp === undefined) return false;
    this.#file?.removeUnfit(stamp, { pending: false });
    if (this.#loaded !== undefined) return true;
    return count >= CARRY_MIN && count - ((await this.#file?.usableCount(stamp)) ?? 0) >= CARRY_MIN;
  }

  /** Returns true if the graph has no usable file. */
  async #isFileMissing({ graph, stamp, isUnsaved }: LoadedClusters): Promise<boolean> {
    if (graph === undefined || graph.count === 0 || this.#file === undefined) return false;
    return isUnsaved || (await this.#file.usableCount(stamp)) === 0;
  }

  async #save(loaded: LoadedClusters, library: Hnswlib): Promise<void> {
    const { graph, position, stamp } = loaded;
    if (this.#file === undefined || graph === undefined) return;
    this.#saveFailure = await this.#file.save(graph, library, position, stamp, this.#source, this.#store);
    if (this.#saveFailure !== undefined) return;
    loaded.isUnsaved = false;
    loaded.fileVersion = this.#file.version();
    loaded.refusal = undefined;
    if (!this.#isAsked) this.#loaded = undefined;
  }

  /** Returns the clusters as the store holds them now; undefined before anything was embedded. Call it in a read. */
  #catchUp(): LoadedClusters | undefined {
    const stamp = this.#source.stamp();
    if (stamp === undefined) return undefined;
    const position = this.#source.newestPosition();
    const loaded = this.#loaded;
    if (loaded === undefined || !isDeepStrictEqual(loaded.stamp, stamp) || this.#isFileBetter(loaded)) {
      this.#loaded = this.#load(stamp, position);
    } else if (loaded.position !== position) {
      this.#follow(loaded, position);
    }
    return this.#loaded;
  }

  /** Returns true if another process wrote an index file and the table is long enough to make reading it worthwhile. */
  #isFileBetter({ table, fileVersion }: LoadedClusters): boolean {
    if (this.#isCarrying || this.#file === undefined || table.size < 2 * CARRY_MIN) return false;
    const version = this.#file.version();
    return version !== undefined && version !== fileVersion;
  }

  #load(stamp: CentroidStamp, position: number): LoadedClusters {
    const fileVersion = this.#file?.version();
    const library = fileVersion === undefined ? undefined : this.#loadLibrary();
    const {
      graph,
      position: savedAt = 0,
      refusal,
    }: LoadedIndex = library === undefined || library instanceof Error
      ? {}
      : this.#file!.load(library, stamp, this.#source);
    if (graph !== undefined) for (const root of this.#source.changedSince(savedAt)) graph.detach(root);
    const compared =
      graph === undefined
        ? this.#source.everyCentroid()
        : this.#source.centroids(this.#source.roots().filter((root) => !graph.has(root)));
    const table = new Map(Array.from(compared, (centroid) => [centroid.root, centroid]));
    return { stamp, position, table, graph, carried: undefined, isUnsaved: false, fileVersion, refusal };
  }

  #follow(loaded: LoadedClusters, position: number): void {
    const { table, graph, carried } = loaded;
    const changed = new Set(this.#source.changedSince(loaded.position));
    for (const centroid of this.#source.centroids(changed)) {
      changed.delete(centroid.root);
      // A cluster that only settled still has the vector in the graph.
      if (centroid.position <= loaded.position && graph?.has(centroid.root)) continue;
      graph?.detach(centroid.root);
      carried?.delete(centroid.root);
      table.set(centroid.root, centroid);
    }
    // The remaining clusters have no centroid any more.
    for (const root of changed) {
      graph?.detach(root);
      carried?.delete(root);
      table.delete(root);
    }
    loaded.position = position;
  }
}

function isStable({ position, settled }: { position: number; settled: boolean }, loaded: LoadedClusters): boolean {
  return settled || position <= loaded.position - STABLE_AFTER_ROWS;
}

/** Returns the stable clusters of the table, oldest first. */
function stableIn(loaded: LoadedClusters): number[] {
  return [...loaded.table.values()]
    .filter((centroid) => isStable(centroid, loaded))
    .map(({ root }) => root)
    .sort((left, right) => left - right);
}
