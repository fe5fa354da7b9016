import { readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { lookAt, removeQuietly, startOf } from "./files.ts";

/** After so long, what stands half written beside an index file is of a process that was killed, whoever has its id now. */
const PENDING_MS_MAX = 3_600_000;

/** Paths that this process is writing. */
const writing = new Set<string>();

let pendingCount = 0;

/** The two paths of an index. */
export interface IndexPaths {
  index: string;
  sideCar: string;
}

/**
 * Where the index of a store stands: `<store>-coppice-ann.hnsw`, with its side-car `<store>-coppice-ann.json`, and beside
 * them, while they are written, `….<process>-<number>.new`. A store that is opened by a link has it where the store itself
 * is, so that all who use it find the same one.
 *
 * A name proves nothing: anybody may have called a file so, and it may be their only copy. So nothing is deleted or
 * replaced here whose first bytes are not those of an index or a side-car.
 */
export class IndexPlace implements IndexPaths {
  readonly index: string;
  readonly sideCar: string;
  readonly #start: string;

  /** @param storePath  Absolute; of a file. */
  constructor(storePath: string) {
    this.#start = `${realPathOf(storePath)}-coppice-ann`;
    this.index = `${this.#start}.hnsw`;
    this.sideCar = `${this.#start}.json`;
  }

  /** Paths to write to, which are nobody else's; to be given back. */
  takePending(): IndexPaths {
    const end = `.${process.pid}-${++pendingCount}.new`;
    const pending = { index: this.index + end, sideCar: this.sideCar + end };
    for (const path of [pending.index, pending.sideCar]) writing.add(path);
    return pending;
  }

  /** Delete what is left there. */
  giveBack({ index, sideCar }: IndexPaths): void {
    for (const path of [index, sideCar]) {
      removeQuietly(path);
      writing.delete(path);
    }
  }

  /** A file of somebody else where the index should be; undefined where there is none. */
  stranger(): string | undefined {
    return [this.index, this.sideCar].find((path) => lookAt(path) !== undefined && !this.#isOurs(path));
  }

  /** Delete what is ours: `finished`, half written by processes that are gone, and with `pending` all that is half written. */
  remove({ finished, pending }: { finished: boolean; pending: boolean }): boolean {
    try {
      return this.#names()
        .filter((path) => (path.endsWith(".new") ? pending || isAbandoned(path) : finished))
        .filter((path) => this.#isOurs(path)) // all of them, before any is gone
        .map(removeQuietly)
        .every((isGone) => isGone);
    } catch {
      return false;
    }
  }

  /** The paths of its files that are there, an index before its side-car: alone, it would not be known any more. */
  #names(): string[] {
    const folder = dirname(this.#start);
    const start = basename(this.#start);
    return readdirSync(folder)
      .filter((name) => name.startsWith(start) && /^\.(hnsw|json)(\.\d+-\d+\.new)?$/.test(name.slice(start.length)))
      .sort()
      .map((name) => join(folder, name));
  }

  /** @throws where it cannot be told. */
  #isOurs(path: string): boolean {
    const start = startOf(path);
    if (start === undefined || start.startsWith("SQLite format 3")) return false;
    if (beginsAsOurs(start)) return true;
    // Damage in its first bytes does not make an index another's, if its side-car is there.
    return path === this.index && beginsAsOurs(startOf(this.sideCar) ?? "?");
  }
}

/** An index begins with an offset of 0, a side-car with its checksum, and both with nothing while nothing is written. */
function beginsAsOurs(start: string): boolean {
  return start === "" || start.startsWith("\0\0\0\0\0\0\0\0") || start.startsWith('{"sha256":"');
}

/** The path as it is where nothing stands there yet. */
function realPathOf(path: string): string {
  return lookAt(path) === undefined ? path : realpathSync(path);
}

/** Whether nobody goes on with a half-written file. In a container, processes have the same few ids again and again. */
function isAbandoned(path: string): boolean {
  const pid = Number(/\.(\d+)-\d+\.new$/.exec(path)![1]);
  if (pid === process.pid) return !writing.has(path);
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined || !isAlive(pid) || Date.now() - stats.mtimeMs > PENDING_MS_MAX;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH"; // it may be another user's
  }
}
