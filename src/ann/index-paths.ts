import { readdirSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { lookAt } from "../core/files.ts";
import { firstBytesOf } from "./files.ts";

/** The age from which a half-written file belongs to a killed process, even if a new process has its id now. */
const PENDING_MS_MAX = 3_600_000;

/** The paths that this process is writing. */
const writing = new Set<string>();

let pendingCount = 0;

/** The two files of an index. */
export interface IndexPair {
  index: string;
  sideCar: string;
}

/**
 * The files of a store's index: `<store>-coppice-ann.hnsw` and its side-car `<store>-coppice-ann.json`. While they are
 * written they are called `….<process>-<number>.new`. If the store is opened through a link, the index is beside the file that
 * the link leads to, so that every process finds the same index.
 *
 * A name proves nothing: a file with such a name may be the only copy of something else. So a file is deleted or replaced only
 * if its first bytes are those of an index or a side-car.
 */
export class IndexPaths implements IndexPair {
  readonly index: string;
  readonly sideCar: string;
  readonly #start: string;

  /** @param storePath  The absolute path of a file. */
  constructor(storePath: string) {
    const realPath = lookAt(storePath) === undefined ? storePath : realpathSync(storePath);
    this.#start = `${realPath}-coppice-ann`;
    this.index = `${this.#start}.hnsw`;
    this.sideCar = `${this.#start}.json`;
  }

  /** Returns new paths to write to. The caller must pass them to `release` in the end. */
  reserve(): IndexPair {
    const end = `.${process.pid}-${++pendingCount}.new`;
    const pending = { index: this.index + end, sideCar: this.sideCar + end };
    for (const path of [pending.index, pending.sideCar]) writing.add(path);
    return pending;
  }

  /** Deletes what is left at reserved paths. */
  release({ index, sideCar }: IndexPair): void {
    for (const path of [index, sideCar]) {
      isRemoved(path);
      writing.delete(path);
    }
  }

  /** Returns the path of a file that has the index's name and is not an index; undefined if there is none. */
  foreignFile(): string | undefined {
    return [this.index, this.sideCar].find((path) => lookAt(path) !== undefined && !this.#isOurs(path));
  }

  /**
   * Deletes the index if `finished` is set, and the half-written files of processes that are gone. With `pending` it deletes
   * all half-written files.
   *
   * @returns true if every such file is gone.
   */
  remove({ finished, pending }: { finished: boolean; pending: boolean }): boolean {
    try {
      return this.#existing()
        .filter((path) => (path.endsWith(".new") ? pending || isAbandoned(path) : finished))
        .filter((path) => this.#isOurs(path)) // before any file is deleted, because a side-car may identify its index
        .map(isRemoved)
        .every((isGone) => isGone);
    } catch {
      return false;
    }
  }

  /** Returns the paths of the files that exist. */
  #existing(): string[] {
    const folder = dirname(this.#start);
    const start = basename(this.#start);
    return readdirSync(folder)
      .filter((name) => name.startsWith(start) && /^\.(hnsw|json)(\.\d+-\d+\.new)?$/.test(name.slice(start.length)))
      .sort()
      .map((name) => join(folder, name));
  }

  /** @throws if the file cannot be read. */
  #isOurs(path: string): boolean {
    const start = firstBytesOf(path);
    if (start === undefined || start.startsWith("SQLite format 3")) return false;
    // An index whose first bytes are damaged is identified by its side-car.
    return beginsAsOurs(start) || (path === this.index && beginsAsOurs(firstBytesOf(this.sideCar) ?? "?"));
  }
}

/** An index begins with an offset of 0, a side-car with its checksum. Both are empty until something is written. */
function beginsAsOurs(start: string): boolean {
  return start === "" || start.startsWith("\0\0\0\0\0\0\0\0") || start.startsWith('{"sha256":"');
}

/** Returns true if no process is writing a half-written file. In containers a new process often has the id of a killed one. */
function isAbandoned(path: string): boolean {
  const pid = Number(/\.(\d+)-\d+\.new$/.exec(path)![1]);
  if (pid === process.pid) return !writing.has(path);
  const stats = lookAt(path);
  return stats === undefined || !isAlive(pid) || Date.now() - stats.mtimeMs > PENDING_MS_MAX;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH"; // the process may be another user's
  }
}

/** Deletes a file. Returns true if it is gone. */
function isRemoved(path: string): boolean {
  try {
    rmSync(path, { force: true });
    return true;
  } catch {
    return false;
  }
}
