import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type CentroidSource, type CentroidStamp, type IndexedStore, isSameStamp } from "./centroid-source.ts";
import { flush, identityOf, lookAt, sha256InTurns, sha256Of } from "./files.ts";
import { Graph } from "./graph.ts";
import type { Hnswlib } from "./hnswlib.ts";
import { layoutFault } from "./index-layout.ts";
import { IndexPlace } from "./index-place.ts";
import { formatSideCar, parseSideCar, type SideCar, samplesOf, sideCarOf } from "./side-car.ts";

/** A side-car holds a number a cluster. Past this, it is none. */
const SIDE_CAR_BYTES_MAX = 1 << 28;

/** A graph as of a log position, or why there is none. */
export type LoadedIndex = { graph: Graph; position: number } | { refusal: string };

/** Why an index file could not be written, and the kind of obstacle. */
export interface SaveFailure {
  reason: string;
  cause: "disk full" | "no permission" | "foreign file" | "other";
}

/** What a side-car says, and which version of it said so. */
interface Seen {
  identity: string;
  /** Undefined where it is none. */
  stamp: CentroidStamp | undefined;
  indexedCount: number;
  /** Of the index. */
  sha256: string;
}

/**
 * The index file of a store and its side-car: a cache of rows, which can go at any time. Nothing that is wrong with it is
 * an error; it is refused, with the reason, and written anew.
 */
export class IndexFile {
  readonly #place: IndexPlace;
  /** The side-car is read once, not at every look. */
  #seen: Seen | undefined;
  /** The version whose bytes were compared with their checksum, and whether they are those that were written. */
  #checked: { version: string; isWhole: boolean } | undefined;

  /** @param storePath  Absolute; of a file. */
  constructor(storePath: string) {
    this.#place = new IndexPlace(storePath);
  }

  /** Tells one version of it from the next; undefined where there is none. */
  identity(): string | undefined {
    const stats = lookAt(this.#place.sideCar);
    return stats === undefined ? undefined : identityOf(stats);
  }

  /**
   * How many clusters of the store are in it; 0 where it cannot be used. The bytes are compared with their checksum once for
   * each version of the file, with other work of this process in between.
   */
  async usableCount(stamp: CentroidStamp): Promise<number> {
    const seen = this.#look();
    const version = this.#version();
    if (seen?.stamp === undefined || version === undefined || !isSameStamp(seen.stamp, stamp)) return 0;
    if (this.#checked?.version !== version) {
      const sha256 = await sha256InTurns(this.#place.index).catch(() => undefined);
      this.#checked = { version, isWhole: sha256 === seen.sha256 };
    }
    return this.#checked.isWhole ? seen.indexedCount : 0;
  }

  /** Whether what is there is not of the store as it is, by its side-car alone. */
  #isUnfit(stamp: CentroidStamp): boolean {
    const seen = this.#look();
    if (seen === undefined) return lookAt(this.#place.index) !== undefined;
    return seen.stamp === undefined || !isSameStamp(seen.stamp, stamp);
  }

  #look(): Seen | undefined {
    const identity = this.identity();
    if (identity === undefined) return undefined;
    if (this.#seen?.identity !== identity) {
      const { stamp, roots = [], sha256 = "" } = this.#sideCarQuietly() ?? {};
      this.#seen = { identity, stamp, indexedCount: roots.flat().length, sha256 };
    }
    return this.#seen;
  }

  #version(): string | undefined {
    const stats = lookAt(this.#place.index);
    return stats === undefined ? undefined : `${this.identity()} ${identityOf(stats)}`;
  }

  /**
   * The graph in the file, if it is one of this store's clusters.
   *
   * The library crashes on damaged files, and answers from foreign ones. So before it sees this one, side-car and file are
   * compared with their checksums, the stamp with the store's, samples of the entries with its rows, and the file's
   * outer form with what it must be. Takes 0.1 to 0.3 s for 50,000 clusters.
   */
  load(library: Hnswlib, stamp: CentroidStamp, source: CentroidSource): LoadedIndex {
    try {
      const sideCar = this.#sideCar();
      if (sideCar === undefined) return { refusal: "its side-car is damaged, or of another version" };
      const refusal = staleness(sideCar, stamp, source) ?? this.#fault(sideCar);
      if (refusal !== undefined) return { refusal };
      const before = this.#version();
      if (sha256Of(this.#place.index) !== sideCar.sha256) return { refusal: "it is damaged: its checksum is another" };
      const graph = Graph.read(library, stamp.dimension, this.#place.index, sideCar.roots);
      // Another process may have put a new one in its place while this one was read.
      if (before === undefined || this.#version() !== before) return { refusal: "it was replaced meanwhile" };
      this.#checked = { version: before, isWhole: true };
      return { graph, position: sideCar.position };
    } catch (error) {
      return { refusal: error instanceof Error ? error.message : String(error) };
    }
  }

  /**
   * Write a graph, to be found by the next process.
   *
   * The library reports success also where the disk is full or the path unwritable. So it writes beside the place, for the
   * owner's eyes only; what was written is looked at, read back and flushed, and only then put in place, while nobody can
   * forget anything: a file of clusters that have been forgotten meanwhile is not put there.
   *
   * @param position  Log position as of which the graph's clusters are what the store holds; the present one.
   * @returns why it could not be written; undefined where it was.
   */
  async save(
    graph: Graph,
    library: Hnswlib,
    position: number,
    stamp: CentroidStamp,
    source: CentroidSource,
    store: IndexedStore,
  ): Promise<SaveFailure | undefined> {
    const pending = this.#place.takePending();
    try {
      const before = this.#obstacle();
      if (before !== undefined) return before;
      const roots = graph.roots.map((group) => [...group]); // clusters may be left out meanwhile
      const samples = store.read(() => samplesOf(roots.flat(), source));
      for (const path of [pending.index, pending.sideCar]) {
        rmSync(path, { force: true });
        writeFileSync(path, "", { flag: "wx", mode: 0o600 });
      }
      await graph.writeTo(pending.index);
      const fault = layoutFault(pending.index, stamp.dimension, roots.length);
      if (fault !== undefined) return { reason: fault, cause: "disk full" };
      const { size: byteLength } = statSync(pending.index);
      const sha256 = await sha256InTurns(pending.index);
      Graph.read(library, stamp.dimension, pending.index, roots);
      flush(pending.index);
      const sideCar = sideCarOf({ stamp, position, roots, samples, byteLength, sha256 });
      writeFileSync(pending.sideCar, formatSideCar(sideCar), { flush: true });
      return store.write("index", () => {
        if (!isSameStamp(source.stamp(), stamp)) {
          return { reason: "clusters were forgotten or rebuilt meanwhile", cause: "other" };
        }
        const obstacle = this.#obstacle();
        if (obstacle !== undefined) return obstacle;
        renameSync(pending.index, this.#place.index);
        renameSync(pending.sideCar, this.#place.sideCar);
        const version = this.#version();
        if (version !== undefined) this.#checked = { version, isWhole: true };
        return undefined;
      });
    } catch (error) {
      return failureOf(error);
    } finally {
      this.#place.giveBack(pending);
    }
  }

  #obstacle(): SaveFailure | undefined {
    const path = this.#place.stranger();
    return path === undefined ? undefined : { reason: `${path} is there, and is no index`, cause: "foreign file" };
  }

  /**
   * Delete it where it is not of the store as it is, with what processes that are gone have half written, and with `pending`
   * all that is half written. What is not ours stays.
   *
   * @returns whether nothing is left that holds what the store does not.
   */
  dropUnfit(stamp: CentroidStamp, { pending }: { pending: boolean }): boolean {
    return this.#place.remove({ finished: this.#isUnfit(stamp), pending });
  }

  #sideCar(): SideCar | undefined {
    if (statSync(this.#place.sideCar).size > SIDE_CAR_BYTES_MAX) return undefined;
    return parseSideCar(readFileSync(this.#place.sideCar, "utf8"));
  }

  #sideCarQuietly(): SideCar | undefined {
    try {
      return this.#sideCar();
    } catch {
      return undefined;
    }
  }

  #fault({ stamp, roots, byteLength }: SideCar): string | undefined {
    const { size } = statSync(this.#place.index);
    if (size !== byteLength) return `it is damaged: it has ${size} bytes, not ${byteLength}`;
    const fault = layoutFault(this.#place.index, stamp.dimension, roots.length);
    return fault === undefined ? undefined : `it is damaged: ${fault}`;
  }
}

function failureOf(error: unknown): SaveFailure {
  const reason = error instanceof Error ? error.message : String(error);
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG") return { reason, cause: "disk full" };
  return { reason, cause: code === "EACCES" || code === "EPERM" || code === "EROFS" ? "no permission" : "other" };
}

/** Why an index is not one of the store's clusters as they are; undefined where it is. */
function staleness(sideCar: SideCar, stamp: CentroidStamp, source: CentroidSource): string | undefined {
  if (!isSameStamp(sideCar.stamp, stamp)) return "clusters were forgotten or rebuilt since, or it is another store's";
  if (sideCar.position > source.newestPosition()) return "it is newer than the store";
  const changed = new Set(source.changedSince(sideCar.position));
  const expected = sideCar.samples.filter(({ root }) => !changed.has(root));
  const roots = expected.map(({ root }) => root);
  const isSame = JSON.stringify(samplesOf(roots, source)) === JSON.stringify(expected);
  return isSame ? undefined : "it holds clusters that the store does not";
}
