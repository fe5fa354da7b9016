import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { byteLengthOf, flushToDisk } from "../core/files.ts";
import type { CentroidSource, CentroidStamp, IndexedStore } from "./centroid-source.ts";
import { sha256InTurns, sha256Of, versionOf } from "./files.ts";
import { Graph } from "./graph.ts";
import type { Hnswlib } from "./hnswlib.ts";
import { layoutFault } from "./index-layout.ts";
import { IndexPaths } from "./index-paths.ts";
import { formatSideCar, parseSideCar, type SideCar, samplesOf, sideCarOf } from "./side-car.ts";

/** The largest side-car that is read. A side-car holds one number for each cluster. */
const SIDE_CAR_BYTES_MAX = 1 << 28;

/** A graph as of a log position, or the reason why there is none. */
export type LoadedIndex = { graph: Graph; position: number } | { refusal: string };

/** The reason why an index file could not be written. */
export interface SaveFailure {
  reason: string;
  cause: "disk full" | "no permission" | "foreign file" | "other";
}

/** The main facts in one version of the side-car. */
interface SideCarSummary {
  version: string;
  /** Undefined if this version of the program did not write the file. */
  stamp: CentroidStamp | undefined;
  clusterCount: number;
  indexSha256: string;
}

/**
 * The index file of a store, and its side-car. Both are a cache and may disappear at any time. A file that is damaged, or does
 * not fit the store as it is now, is not an error: it is refused with a reason, and written again.
 */
export class IndexFile {
  readonly #paths: IndexPaths;
  /** Kept, so that the side-car is parsed once for each version. */
  #summary: SideCarSummary | undefined;
  /** The version of both files whose checksum was compared last, and the result. */
  #checked: { version: string; isWhole: boolean } | undefined;

  /** @param storePath  The absolute path of a file. */
  constructor(storePath: string) {
    this.#paths = new IndexPaths(storePath);
  }

  /** Returns a text that differs for each version of the file; undefined if there is none. */
  version(): string | undefined {
    return versionOf(this.#paths.sideCar);
  }

  /**
   * Returns how many clusters of the store are in the file; 0 if the file cannot be used. The checksum of each version of the
   * file is compared once. The method yields to the event loop meanwhile.
   */
  async usableCount(stamp: CentroidStamp): Promise<number> {
    const summary = this.#readSummary();
    const version = this.#versionOfBoth();
    if (summary?.stamp === undefined || version === undefined || !isDeepStrictEqual(summary.stamp, stamp)) return 0;
    if (this.#checked?.version !== version) {
      const sha256 = await sha256InTurns(this.#paths.index).catch(() => undefined);
      this.#checked = { version, isWhole: sha256 === summary.indexSha256 };
    }
    return this.#checked.isWhole ? summary.clusterCount : 0;
  }

  #readSummary(): SideCarSummary | undefined {
    const version = this.version();
    if (version !== undefined && this.#summary?.version !== version) {
      let sideCar: SideCar | undefined;
      try {
        sideCar = this.#sideCar();
      } catch {
        // A side-car that cannot be read is treated as missing.
      }
      const { stamp, roots = [], sha256: indexSha256 = "" } = sideCar ?? {};
      this.#summary = { version, stamp, clusterCount: roots.flat().length, indexSha256 };
    }
    return version === undefined ? undefined : this.#summary;
  }

  #versionOfBoth(): string | undefined {
    const index = versionOf(this.#paths.index);
    return index && `${this.version()} ${index}`;
  }

  #sideCar(): SideCar | undefined {
    const path = this.#paths.sideCar;
    return statSync(path).size > SIDE_CAR_BYTES_MAX ? undefined : parseSideCar(readFileSync(path, "utf8"));
  }

  /**
   * Returns the graph in the file if it holds clusters of this store.
   *
   * The library crashes on damaged files, and answers from files of another store. So before the library sees the file, the
   * checksums of both files, the stamp, samples of the clusters and the layout are compared with what they must be. That
   * takes 0.1 to 0.3 s for 50,000 clusters.
   */
  load(library: Hnswlib, stamp: CentroidStamp, source: CentroidSource): LoadedIndex {
    try {
      const sideCar = this.#sideCar();
      if (sideCar === undefined) return { refusal: "its side-car is damaged, or has another version" };
      const refusal = staleness(sideCar, stamp, source) ?? this.#damage(sideCar);
      if (refusal !== undefined) return { refusal };
      const version = this.#versionOfBoth();
      if (sha256Of(this.#paths.index) !== sideCar.sha256) return { refusal: "it is damaged: its checksum is wrong" };
      const graph = Graph.read(library, stamp.dimension, this.#paths.index, sideCar.roots);
      // Another process may have put a new file there in the meantime.
      if (version === undefined || this.#versionOfBoth() !== version) return { refusal: "it was replaced meanwhile" };
      this.#checked = { version, isWhole: true };
      return { graph, position: sideCar.position };
    } catch (error) {
      return { refusal: error instanceof Error ? error.message : String(error) };
    }
  }

  #damage({ stamp, roots, byteLength }: SideCar): string | undefined {
    const size = byteLengthOf(this.#paths.index);
    if (size !== byteLength) return `it is damaged: it has ${size} bytes, not ${byteLength}`;
    const fault = layoutFault(this.#paths.index, stamp.dimension, roots.length);
    return fault === undefined ? undefined : `it is damaged: ${fault}`;
  }

  /**
   * Writes a graph for the next process that needs it.
   *
   * The library reports success even if the disk is full or the path cannot be written. So the files are written under other
   * names, readable by the owner only, then checked, read back and flushed. They are renamed in a write transaction, during
   * which no process can forget anything. So no file with forgotten clusters ever gets the index's name.
   *
   * @param position  The log position at which the graph's clusters are what the store holds.
   * @returns why the file could not be written; undefined if it was.
   */
  async save(
    graph: Graph,
    library: Hnswlib,
    position: number,
    stamp: CentroidStamp,
    source: CentroidSource,
    store: IndexedStore,
  ): Promise<SaveFailure | undefined> {
    const pending = this.#paths.reserve();
    try {
      const obstacle = this.#obstacle();
      if (obstacle !== undefined) return obstacle;
      const roots = graph.roots.map((group) => [...group]); // the graph may lose clusters in the meantime
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
      flushToDisk(pending.index);
      const sideCar = sideCarOf({ stamp, position, byteLength, sha256, roots, samples });
      writeFileSync(pending.sideCar, formatSideCar(sideCar), { flush: true });
      return store.write("index", () => {
        if (!isDeepStrictEqual(source.stamp(), stamp)) {
          return { reason: "clusters were forgotten or rebuilt meanwhile", cause: "other" };
        }
        const newObstacle = this.#obstacle();
        if (newObstacle !== undefined) return newObstacle;
        renameSync(pending.index, this.#paths.index);
        renameSync(pending.sideCar, this.#paths.sideCar);
        const version = this.#versionOfBoth();
        if (version !== undefined) this.#checked = { version, isWhole: true };
        return undefined;
      });
    } catch (error) {
      return saveFailureOf(error);
    } finally {
      this.#paths.release(pending);
    }
  }

  #obstacle(): SaveFailure | undefined {
    const path = this.#paths.foreignFile();
    return path === undefined ? undefined : { reason: `${path} exists, and is not an index`, cause: "foreign file" };
  }

  /**
   * Deletes the index if it does not fit the store as it is now, and half-written files of processes that are gone. With
   * `pending` it deletes all half-written files. It never deletes a file that is not an index.
   *
   * @returns true if no remaining file holds clusters that the store does not hold.
   */
  removeUnfit(stamp: CentroidStamp, { pending }: { pending: boolean }): boolean {
    const summary = this.#readSummary();
    const isFit =
      summary === undefined ? versionOf(this.#paths.index) === undefined : isDeepStrictEqual(summary.stamp, stamp);
    return this.#paths.remove({ finished: !isFit, pending });
  }
}

function saveFailureOf(error: unknown): SaveFailure {
  const reason = error instanceof Error ? error.message : String(error);
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  if (["ENOSPC", "EDQUOT", "EFBIG"].includes(code)) return { reason, cause: "disk full" };
  return { reason, cause: ["EACCES", "EPERM", "EROFS"].includes(code) ? "no permission" : "other" };
}

/** Returns the reason why an index does not hold the store's clusters as they are now; undefined if it does. */
function staleness(sideCar: SideCar, stamp: CentroidStamp, source: CentroidSource): string | undefined {
  if (!isDeepStrictEqual(sideCar.stamp, stamp))
    return "clusters were forgotten or rebuilt since, or it belongs to another store";
  if (sideCar.position > source.newestPosition()) return "it is newer than the store";
  const changed = new Set(source.changedSince(sideCar.position));
  const expected = sideCar.samples.filter(({ root }) => !changed.has(root));
  const found = samplesOf(
    expected.map(({ root }) => root),
    source,
  );
  return isDeepStrictEqual(found, expected) ? undefined : "it holds clusters that the store does not";
}
