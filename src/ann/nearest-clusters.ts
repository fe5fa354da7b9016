import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError } from "../core/errors.ts";
import { dotAt } from "../vector/vector.ts";
import { Best, type NearCluster } from "./best.ts";
import { type CentroidSource, type CentroidStamp, type IndexedStore, isSameStamp } from "./centroid-source.ts";
import { CentroidTable } from "./centroid-table.ts";
import { Graph } from "./graph.ts";
import { type Hnswlib, loadHnswlib } from "./hnswlib.ts";
import { IndexFile, type SaveFailure } from "./index-file.ts";
import { acceptedIn, nominated } from "./nominate.ts";

/** Resting clusters from which it pays to carry them into the graph: as many are compared in a third of a millisecond. */
const CARRY_MIN = 1_000;

/** Most of them carried in one go: 2 s of work for an empty graph, 5 s for one of 50,000. The rest waits for the next. */
const CARRY_MAX = 4_096;

/**
 * Carried between two turns of the event loop, which takes 3 ms in a small graph and 9 ms in one of 50,000. Nothing else
 * here is cut so small: a saving looks at what it has written and reads it back in one go, 10 ms for 4,000, 90 ms for 50,000.
 */
const CARRY_PER_TURN = 8;

/** Rows of the log after which an open cluster that none of them was about is taken to rest. */
const RESTING_ROWS = 2_000;

export interface NearestOptions {
  /** At most so many, from 1. */
  k: number;
  /** Compare every cluster. */
  exact?: boolean;
  /** Which clusters are wanted; all unless given. */
  accepts?: (root: number) => boolean;
}

/** What the nearest clusters are found with. */
export interface IndexState {
  /** Clusters in the graph. */
  indexedCount: number;
  /** Clusters compared one by one. */
  comparedCount: number;
  /** Of those, resting ones, which could be in the graph. */
  waitingCount: number;
  /** Whether so many rest that a graph pays. */
  pays: boolean;
  /** Why the native library could not be loaded; undefined where it was, or was not needed yet. */
  libraryError: string | undefined;
  /** Why the index file that is there was not used. */
  refusal: string | undefined;
  /** Why this process could not write it when it last tried. */
  saveFailure: SaveFailure | undefined;
}

/** All there is in memory, as of a log position. A cluster is in the table or in the graph. */
interface Held {
  stamp: CentroidStamp;
  position: number;
  table: CentroidTable;
  graph: Graph | undefined;
  /** Whether clusters are in the graph that no file has. */
  isUnsaved: boolean;
  /** Of the index file that was looked at. */
  fileIdentity: string | undefined;
  refusal: string | undefined;
}

/**
 * The clusters of a store nearest to a vector.
 *
 * A cluster **rests** when it is settled, or when nothing has happened to it for 2,000 rows of the log: sessions end with
 * most of their clusters open. Resting clusters are carried into a graph, in the background and by writers only; the
 * others, and those that no carrying has reached, stand in a table and are compared one by one. A resting cluster that
 * takes a member after all goes back to the table, at the next look at the log. So everything is found at once, and an
 * append pays nothing for it.
 *
 * The graph nominates, and only rows decide: every similarity is the exact cosine of the centroid that the store holds
 * now. What the graph misses of the ten nearest is measured by `bench -- recall`. Where the native library is missing, or no
 * index file fits, the table holds everything: slower, never wrong.
 *
 * Nothing here may be called inside a transaction that could be rolled back.
 */
export class NearestClusters {
  readonly #source: CentroidSource;
  readonly #store: IndexedStore;
  readonly #file: IndexFile | undefined;
  readonly #loadLibrary: () => Hnswlib | Error;
  #held: Held | undefined;
  /** Whether anybody has asked for what is near: then it is kept in memory. */
  #isAsked = false;
  #carrying = false;
  #saveFailure: SaveFailure | undefined;

  constructor(source: CentroidSource, store: IndexedStore, loadLibrary: () => Hnswlib | Error = loadHnswlib) {
    this.#source = source;
    this.#store = store;
    this.#file = store.path === ":memory:" ? undefined : new IndexFile(store.path);
    this.#loadLibrary = loadLibrary;
  }

  /**
   * @param vector  Of unit length, of the generation's dimension.
   * @returns at most `k` clusters, best first, ties to the older root.
   * @throws {StoreError} `STORE_CORRUPT`, `STORE_CLOSED`, and what `accepts` throws.
   */
  nearest(vector: Float32Array, { k, exact = false, accepts }: NearestOptions): NearCluster[] {
    this.#isAsked = true;
    return this.#store.read(() => {
      const held = this.#catchUp();
      if (held === undefined) return [];
      const best = new Best(k);
      held.table.offerTo(best, vector, accepts);
      if (held.graph !== undefined && held.graph.count > 0) {
        const roots = exact ? acceptedIn(held.graph, accepts) : nominated(held.graph, vector, k, accepts);
        for (const centroid of this.#source.centroids(roots)) {
          best.offer(centroid.root, dotAt(centroid.vector, 0, vector));
        }
      }
      return best.list();
    });
  }

  /**
   * Carry resting clusters into the graph, where enough of them wait for it, and save it: a few at a time, with other work
   * of this process in between. A reader carries nothing, and of two calls at a time only the first does anything.
   *
   * @throws the signal's reason when it is aborted. That a file could not be written is not an error: see `state`. Nor is a
   *   damaged row: whoever asks for what is near is told of it, and the doctor; what runs in the background goes on without.
   */
  async carry(signal: AbortSignal): Promise<void> {
    if (this.#store.readonly || this.#carrying) return;
    this.#carrying = true;
    try {
      await this.#carry(signal);
    } catch (error) {
      if (!StoreError.is(error, "STORE_CORRUPT")) throw error;
    } finally {
      this.#carrying = false;
    }
  }

  /**
   * Clusters were forgotten: delete the index file if it was written before. @returns whether nothing of them is left there.
   */
  forget(): boolean {
    this.#held = undefined;
    const stamp = this.#store.read(() => this.#source.stamp());
    return stamp === undefined || this.#file === undefined || this.#file.dropUnfit(stamp, { pending: true });
  }

  state(): IndexState {
    const held = this.#store.read(() => this.#catchUp());
    const indexedCount = held?.graph?.count ?? 0;
    const waitingCount = held === undefined ? 0 : restingIn(held).length;
    const pays = indexedCount + waitingCount >= CARRY_MIN;
    const library = pays ? this.#loadLibrary() : undefined;
    return {
      indexedCount,
      comparedCount: held?.table.count ?? 0,
      waitingCount,
      pays,
      libraryError: library instanceof Error ? library.message : undefined,
      refusal: held?.refusal,
      saveFailure: this.#saveFailure,
    };
  }

  async #carry(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const mayPay = await this.#mayPay();
    signal.throwIfAborted();
    const held = mayPay ? this.#store.read(() => this.#catchUp()) : undefined;
    if (held === undefined) return;
    if (held.graph?.isWorn) {
      held.graph = undefined;
      this.#store.read(() => {
        for (const centroid of this.#source.everyCentroid()) held.table.put(centroid);
      });
    }
    const waiting = restingIn(held);
    if (waiting.length < CARRY_MIN && !(await this.#isFileMissed(held))) return;
    signal.throwIfAborted();
    const library = this.#loadLibrary();
    if (library instanceof Error) return;
    for (const [index, root] of waiting.slice(0, CARRY_MAX).entries()) {
      if (index % CARRY_PER_TURN === 0) {
        await nextTurn();
        signal.throwIfAborted();
        // Where all of it has been loaded anew, what waits now is carried next time.
        if (this.#store.read(() => this.#catchUp()) !== held) return;
      }
      const centroid = held.table.get(root);
      if (centroid === undefined || !isResting(centroid, held)) continue;
      held.graph ??= Graph.empty(library, held.stamp.dimension);
      held.graph.add(root, centroid.vector);
      held.isUnsaved = true;
      held.table.delete(root);
    }
    await this.#save(held, library);
  }

  /**
   * Whether there may be enough to carry, told without loading what is there: most processes append and never ask what is
   * near. Also the moment to delete a file of clusters that were forgotten, where the process that forgot them was killed.
   */
  async #mayPay(): Promise<boolean> {
    const { stamp, count } = this.#store.read(() => ({
      stamp: this.#source.stamp(),
      count: this.#source.clusterCount(),
    }));
    if (stamp === undefined) return false;
    this.#file?.dropUnfit(stamp, { pending: false });
    if (this.#held !== undefined) return true;
    return count >= CARRY_MIN && count - ((await this.#file?.usableCount(stamp)) ?? 0) >= CARRY_MIN;
  }

  /** Whether there is a graph, and no file of it that could be used: it could not be written, or was lost or damaged since. */
  async #isFileMissed({ graph, stamp, isUnsaved }: Held): Promise<boolean> {
    if (graph === undefined || graph.count === 0 || this.#file === undefined) return false;
    return isUnsaved || (await this.#file.usableCount(stamp)) === 0;
  }

  async #save(held: Held, library: Hnswlib): Promise<void> {
    if (this.#file === undefined || held.graph === undefined) return;
    const { graph, stamp } = held;
    const position = held.position;
    this.#saveFailure = await this.#file.save(graph, library, position, stamp, this.#source, this.#store);
    if (this.#saveFailure !== undefined) return;
    held.isUnsaved = false;
    held.fileIdentity = this.#file.identity();
    held.refusal = undefined;
    if (!this.#isAsked) this.#held = undefined;
  }

  /** What is in memory, as the store is now; undefined before anything was embedded. Inside a read. */
  #catchUp(): Held | undefined {
    const stamp = this.#source.stamp();
    if (stamp === undefined) return undefined;
    const position = this.#source.newestPosition();
    const held = this.#held;
    if (held === undefined || !isSameStamp(held.stamp, stamp) || this.#isOutdone(held)) {
      this.#held = this.#load(stamp, position);
    } else if (held.position !== position) {
      this.#follow(held, position);
    }
    return this.#held;
  }

  /** Whether another process has written an index file while so much stands in the table that it pays to read it. */
  #isOutdone(held: Held): boolean {
    if (this.#carrying || this.#file === undefined || held.table.count < 2 * CARRY_MIN) return false;
    const identity = this.#file.identity();
    return identity !== undefined && identity !== held.fileIdentity;
  }

  #load(stamp: CentroidStamp, position: number): Held {
    const held: Held = {
      stamp,
      position,
      table: new CentroidTable(stamp.dimension),
      graph: undefined,
      isUnsaved: false,
      fileIdentity: this.#file?.identity(),
      refusal: undefined,
    };
    if (held.fileIdentity !== undefined) {
      const library = this.#loadLibrary();
      if (!(library instanceof Error)) {
        const loaded = this.#file!.load(library, stamp, this.#source);
        if ("graph" in loaded) {
          held.graph = loaded.graph;
          for (const root of this.#source.changedSince(loaded.position)) held.graph.leaveOut(root);
        } else held.refusal = loaded.refusal;
      }
    }
    const { graph } = held;
    const missing =
      graph === undefined
        ? this.#source.everyCentroid()
        : this.#source.centroids(this.#source.roots().filter((root) => !graph.has(root)));
    for (const centroid of missing) held.table.put(centroid);
    return held;
  }

  /** Bring what the log says has changed since. */
  #follow(held: Held, position: number): void {
    const changed = new Set(this.#source.changedSince(held.position));
    for (const centroid of this.#source.centroids(changed)) {
      changed.delete(centroid.root);
      // It has only settled: the graph's vector is still its own.
      if (centroid.position <= held.position && held.graph?.has(centroid.root)) continue;
      held.graph?.leaveOut(centroid.root);
      held.table.put(centroid);
    }
    // Those that are left have no direction any more.
    for (const root of changed) {
      held.graph?.leaveOut(root);
      held.table.delete(root);
    }
    held.position = position;
  }
}

function isResting({ position, settled }: { position: number; settled: boolean }, held: Held): boolean {
  return settled || position <= held.position - RESTING_ROWS;
}

/** Clusters of the table that could be in the graph, oldest first. */
function restingIn(held: Held): number[] {
  return held.table
    .list()
    .filter((centroid) => isResting(centroid, held))
    .map(({ root }) => root)
    .sort((left, right) => left - right);
}
