import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { isTranscriptName, walkFiles } from "../../importers/files.ts";
import { FolderWatch } from "./folder-watch.ts";

export interface WatchedPathsOptions {
  /** A file that may be new, or have changed. */
  onFile: (path: string, isUncertain: boolean) => void;
  /** A folder that cannot be looked through. */
  onUnreadable: (path: string, error: unknown) => void;
  /** The system watches no more folders. */
  onExhausted: (reason: string) => void;
}

/** Nobody types here. */
const NO_INPUT = (async function* (): AsyncGenerator<Uint8Array> {})();

/** How files beside a database are called that hold its newest changes. */
const BESIDE_DATABASE = /-(wal|journal)$/;

/**
 * The files and folders that a watch is about, whether they are there or not: tells of each file below them, and of each that
 * changes or comes to be.
 *
 * Of a path that is not there the nearest folder above is watched; one that is has the folder above it watched, too, so that
 * its end is noticed. Where a file is a link, the folder of what it leads to is watched. What the system's events miss, another `scan` finds.
 */
export class WatchedPaths {
  readonly #roots: readonly string[];
  readonly #options: WatchedPathsOptions;
  readonly #folders: FolderWatch;
  /** Folders that are to be looked through, and whether that is under way. */
  readonly #waiting = new Set<string>();
  #scanning: Promise<void> | undefined;
  #isClosed = false;
  /** Files that links lead to: what changes is the file, what is followed the link. */
  readonly #linkByTarget = new Map<string, string>();

  constructor(paths: readonly string[], options: WatchedPathsOptions) {
    this.#roots = paths.map((path) => resolve(path));
    this.#options = options;
    this.#folders = new FolderWatch({ onChange: (path) => this.#changed(path), onExhausted: options.onExhausted });
  }

  /** Look at everything that is there, and watch it from then on. @returns when all of it was told of. */
  scan(): Promise<void> {
    for (const root of this.#roots) this.#lookThrough(root);
    return this.#scanning ?? Promise.resolve();
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#folders.close();
  }

  #changed(path: string): void {
    if (this.#isClosed) return;
    for (const root of this.#roots) if (isWithin(root, path)) this.#lookThrough(root);
    const file = path.replace(BESIDE_DATABASE, "");
    const link = this.#linkByTarget.get(file);
    if (link !== undefined) this.#changed(link);
    if (!this.#roots.some((root) => isWithin(file, root))) return;
    const isRoot = this.#roots.includes(file);
    if (isFolder(path)) this.#lookThrough(path);
    else if (isRoot || isTranscriptName(basename(file))) {
      this.#watchTarget(file);
      this.#options.onFile(file, !isRoot && isUncertain(file));
    }
  }

  /** One folder at a time; what is asked for twice before its turn comes is done once. */
  #lookThrough(path: string): void {
    this.#waiting.add(path);
    this.#scanning ??= this.#scan().finally(() => {
      this.#scanning = undefined;
    });
  }

  async #scan(): Promise<void> {
    for (const path of this.#waiting) {
      this.#waiting.delete(path);
      if (this.#roots.includes(path)) this.#watchAbove(path);
      if (!existsSync(path)) continue;
      for await (const file of walkFiles([path], NO_INPUT, (folder) => this.#folders.add(folder))) {
        if (this.#isClosed) return;
        if (!isFolder(file.path)) {
          this.#watchTarget(file.path);
          this.#options.onFile(file.path, file.isUncertain === true);
        } else await firstOf(file.chunks).catch((error) => this.#options.onUnreadable(file.path, error));
      }
    }
  }

  /** Where a file is a link: watch the folder of what it leads to. */
  #watchTarget(path: string): void {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
    try {
      const target = realpathSync(path);
      this.#linkByTarget.set(target, path);
      this.#folders.add(dirname(target));
    } catch {
      // It leads nowhere any more.
    }
  }

  /** Watch the folder that would have to change for `path` to come to be, or to go. */
  #watchAbove(path: string): void {
    let above = dirname(path);
    while (!isFolder(above) && above !== dirname(above)) above = dirname(above);
    this.#folders.add(above);
    // What came to be before it was watched.
    const [next] = path.slice(join(above, sep).length).split(sep);
    const below = join(above, next ?? "");
    if (below !== path && isFolder(below)) this.#watchAbove(path);
  }
}

/** Whether `path` is `folder` or stands somewhere below it. */
function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

async function firstOf(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  await chunks[Symbol.asyncIterator]().next();
}

function isUncertain(path: string): boolean {
  return !/\.jsonl(\.zst)?$/.test(path);
}
