import { createHash, hash, randomUUID } from "node:crypto";
import { createReadStream, readdirSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { byteLengthOf, flushToDisk, lookAt } from "../core/files.ts";
import type { CentroidSource, CentroidStamp, IndexedStore } from "./centroid-source.ts";
import { Graph, type Hnswlib } from "./graph.ts";
import { formatSidecar, parseSidecar, type Sidecar, samplesOf } from "./sidecar.ts";

/** A half-written file of this age belongs to a process that was killed. */
const PENDING_MS_MAX = 3_600_000;

/** The size of the header that hnswlib 0.8 writes on 64-bit machines (`saveIndex` in hnswalg.h). */
const HEADER_BYTES = 96;

export interface LoadedIndex {
  graph?: Graph;
  position?: number;
  refusal?: string;
}

export interface SaveFailure {
  reason: string;
  cause: "disk full" | "no permission" | "other";
}

interface Summary {
  version: string | undefined;
  /** Undefined if the sidecar is missing, damaged, or written by another version of the program. */
  stamp: CentroidStamp | undefined;
  clusterCount: number;
  sha256: string;
  /** True if the index has this checksum; undefined if nobody has checked. */
  isWhole?: boolean;
}

/**
 * The files of a store's index: `<store>-coppice-ann.hnsw` and its sidecar `<store>-coppice-ann.json`. If the store
 * was opened through a link, they are beside the real file. They are a cache, and are written again if they do not fit.
 */
export class IndexFile {
  readonly #index: string;
  readonly #sidecar: string;
  #summary: Summary | undefined;

  constructor(storePath: string) {
    const realPath = lookAt(storePath) === undefined ? storePath : realpathSync(storePath);
    this.#index = `${realPath}-coppice-ann.hnsw`;
    this.#sidecar = `${realPath}-coppice-ann.json`;
  }

  /** Returns a different text for each version of the files; undefined if there is no sidecar. */
  version(): string | undefined {
    const [index, sidecar] = [this.#index, this.#sidecar].map(lookAt).map((stats) => {
      return stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs}`;
    });
    return sidecar && `${index} ${sidecar}`;
  }

  /** Returns how many clusters of the store are in the file; 0 if it cannot be used. Yields to the event loop. */
  async usableCount(stamp: CentroidStamp): Promise<number> {
    const summary = this.#readSummary();
    if (!isDeepStrictEqual(summary.stamp, stamp)) return 0;
    summary.isWhole ??= (await sha256InTurns(this.#index).catch(() => undefined)) === summary.sha256;
    return summary.isWhole ? summary.clusterCount : 0;
  }

  #readSummary(): Summary {
    const version = this.version();
    if (this.#summary === undefined || this.#summary.version !== version) {
      const { stamp, roots = [], sha256 = "" } = this.#readSidecar() ?? {};
      this.#summary = { version, stamp, clusterCount: roots.flat().length, sha256 };
    }
    return this.#summary;
  }

  #readSidecar(): Sidecar | undefined {
    try {
      return parseSidecar(readFileSync(this.#sidecar, "utf8"));
    } catch {
      return undefined;
    }
  }

  /**
   * Returns the graph in the file if it holds clusters of this store. The library crashes on damaged files and accepts
   * files of another store. So checksums, the stamp and samples of the clusters are compared first. That takes 0.1 to
   * 0.3 s for 50,000 clusters.
   */
  load(library: Hnswlib, stamp: CentroidStamp, source: CentroidSource): LoadedIndex {
    try {
      const version = this.version();
      const sidecar = this.#readSidecar();
      if (sidecar === undefined) return { refusal: "its sidecar is damaged, or has another version" };
      const refusal = staleness(sidecar, stamp, source);
      if (refusal !== undefined) return { refusal };
      const sha256 = hash("sha256", readFileSync(this.#index));
      if (sha256 !== sidecar.sha256) return { refusal: "it is damaged: its checksum is wrong" };
      const graph = Graph.read(library, stamp.dimension, this.#index, sidecar.roots);
      // Another process may have replaced the file meanwhile.
      if (this.version() !== version) return { refusal: "it was replaced meanwhile" };
      return { graph, position: sidecar.position };
    } catch (error) {
      return { refusal: messageOf(error) };
    }
  }

  /**
   * Writes a graph for the next process that needs it.
   *
   * The library reports success even if the disk is full. So the new files get other names, are read back, and are
   * flushed. They are renamed in a write transaction, while no process can forget messages. So no index file holds
   * forgotten clusters.
   *
   * @param position  The log position at which the store held the graph's clusters.
   * @returns undefined if the file was written.
   */
  async save(
    graph: Graph,
    library: Hnswlib,
    position: number,
    stamp: CentroidStamp,
    source: CentroidSource,
    store: IndexedStore,
  ): Promise<SaveFailure | undefined> {
    const end = `.${randomUUID()}.new`;
    const newIndex = this.#index + end;
    const newSidecar = this.#sidecar + end;
    try {
      const roots = graph.roots.map((group) => [...group]); // the graph may lose clusters meanwhile
      const samples = store.read(() => samplesOf(roots.flat(), source));
      for (const path of [newIndex, newSidecar]) writeFileSync(path, "", { flag: "wx", mode: 0o600 });
      await graph.writeTo(newIndex);
      if (!isWhole(library, stamp.dimension, newIndex)) return { reason: "it was cut off", cause: "disk full" };
      const sha256 = await sha256InTurns(newIndex);
      flushToDisk(newIndex);
      writeFileSync(newSidecar, formatSidecar({ stamp, position, sha256, roots, samples }), { flush: true });
      return store.write("index", () => {
        if (!isDeepStrictEqual(source.stamp(), stamp)) {
          return { reason: "clusters were forgotten or rebuilt meanwhile", cause: "other" };
        }
        renameSync(newIndex, this.#index);
        renameSync(newSidecar, this.#sidecar);
        return undefined;
      });
    } catch (error) {
      return saveFailureOf(error);
    } finally {
      for (const path of [newIndex, newSidecar]) rmSync(path, { force: true });
    }
  }

  /**
   * Deletes the index if it does not fit the store, and the half-written files of killed processes. With `pending` it
   * deletes all half-written files.
   *
   * @returns true if no remaining file holds clusters that the store does not hold.
   */
  removeUnfit(stamp: CentroidStamp, { pending }: { pending: boolean }): boolean {
    const isFit = isDeepStrictEqual(this.#readSummary().stamp, stamp);
    try {
      const unfit = isFit ? [] : [this.#index, this.#sidecar];
      for (const path of [...unfit, ...this.#halfWritten(pending)]) rmSync(path, { force: true });
      return true;
    } catch {
      return false;
    }
  }

  #halfWritten(all: boolean): string[] {
    const folder = dirname(this.#index);
    const start = basename(this.#index, "hnsw");
    return readdirSync(folder)
      .filter((name) => name.startsWith(start) && name.endsWith(".new"))
      .map((name) => join(folder, name))
      .filter((path) => all || Date.now() - (lookAt(path)?.mtimeMs ?? 0) > PENDING_MS_MAX);
  }
}

function isWhole(library: Hnswlib, dimension: number, path: string): boolean {
  if (byteLengthOf(path) < HEADER_BYTES) return false;
  try {
    Graph.read(library, dimension, path, []);
    return true;
  } catch {
    return false;
  }
}

async function sha256InTurns(path: string): Promise<string> {
  const sum = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) sum.update(chunk as Buffer);
  return sum.digest("hex");
}

function saveFailureOf(error: unknown): SaveFailure {
  const reason = messageOf(error);
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? "";
  if (["ENOSPC", "EDQUOT", "EFBIG"].includes(code)) return { reason, cause: "disk full" };
  return { reason, cause: ["EACCES", "EPERM", "EROFS"].includes(code) ? "no permission" : "other" };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns why an index does not hold the store's current clusters; undefined if it does. */
function staleness(sidecar: Sidecar, stamp: CentroidStamp, source: CentroidSource): string | undefined {
  if (!isDeepStrictEqual(sidecar.stamp, stamp))
    return "clusters were forgotten or rebuilt since, or it belongs to another store";
  if (sidecar.position > source.newestPosition()) return "it is newer than the store";
  const changed = new Set(source.changedSince(sidecar.position));
  const expected = sidecar.samples.filter(({ root }) => !changed.has(root));
  const found = samplesOf(
    expected.map(({ root }) => root),
    source,
  );
  return isDeepStrictEqual(found, expected) ? undefined : "it holds clusters that the store does not";
}
