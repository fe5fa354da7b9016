import { existsSync, lstatSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { isPassedOver, isPossibleName, isTranscriptName, sessionFileOf, walkFiles } from "../../importers/files.ts";
import type { ImportFile } from "../../importers/importer.ts";
import { isWithin } from "../exclusions.ts";
import { FolderWatch } from "./folder-watch.ts";

/** A file that was found by a scan, or of which only the path is known, because it has just changed. */
export type FoundFile = Pick<ImportFile, "path" | "isUncertain" | "byteLength" | "writtenAtMs" | "stamp">;

interface WatchedPathsOptions {
  onFile: (file: FoundFile) => void;
  onUnreadable: (path: string, error: unknown) => void;
  onExhausted: (reason: string) => void;
}

/** Files next to a database that hold its newest changes. */
const BESIDE_DATABASE = /-(wal|journal)$/;

/**
 * Finds every file below the paths of a watch, and every file that is created or changed there. The paths need not exist.
 *
 * For each path, the nearest existing folder above it is watched, so that its creation and deletion are noticed. For a link, the
 * folder of its target is watched.
 */
export class WatchedPaths {
  readonly #roots: readonly string[];
  readonly #options: WatchedPathsOptions;
  readonly #folders: FolderWatch;
  readonly #unscanned = new Set<string>();
  #scanning: Promise<void> | undefined;
  #isClosed = false;
  /** Changes of a target count as changes of its link. */
  readonly #linkByTarget = new Map<string, string>();

  constructor(paths: readonly string[], options: WatchedPathsOptions) {
    this.#roots = paths.map((path) => resolve(path));
    this.#options = options;
    this.#folders = new FolderWatch({ onChange: (path) => this.#changed(path), onExhausted: options.onExhausted });
  }

  /** Reports every existing file. All folders are watched from then on. */
  scan(): Promise<void> {
    for (const root of this.#roots) this.#requestScan(root);
    return this.#scanning ?? Promise.resolve();
  }

  close(): void {
    this.#isClosed = true;
    this.#unscanned.clear();
    this.#folders.close();
  }

  #changed(path: string): void {
    if (this.#isClosed) return;
    for (const root of this.#roots) if (isWithin(root, path)) this.#requestScan(root);
    const file = sessionFileOf(path.replace(BESIDE_DATABASE, ""));
    const link = this.#linkByTarget.get(file);
    if (link !== undefined) this.#changed(link);
    if (!this.#roots.some((root) => isWithin(file, root) && (!isPassedOver(file) || isPassedOver(root)))) return;
    const isRoot = this.#roots.includes(file);
    if (isFolder(path)) this.#requestScan(path);
    else if (isRoot || isTranscriptName(basename(file))) {
      this.#watchTarget(file);
      this.#options.onFile({ path: file, isUncertain: !isRoot && isPossibleName(file) });
    }
  }

  #requestScan(path: string): void {
    this.#unscanned.add(path);
    this.#scanning ??= this.#scan();
  }

  /** Scans one folder at a time. Repeated requests for a waiting folder count once. */
  async #scan(): Promise<void> {
    await null; // so that the promise is known before it ends
    try {
      for (const path of this.#unscanned) {
        this.#unscanned.delete(path);
        if (this.#roots.includes(path)) this.#watchAbove(path);
        if (!existsSync(path)) continue;
        for await (const file of walkFiles([path], (folder) => this.#folders.add(folder))) {
          if (this.#isClosed) return;
          if (file.byteLength !== undefined || !isFolder(file.path)) {
            this.#watchTarget(file.path);
            this.#options.onFile(file);
          } else await firstOf(file.chunks).catch((error) => this.#options.onUnreadable(file.path, error));
        }
      }
    } finally {
      // No request can arrive between the end of the loop and this line.
      this.#scanning = undefined;
    }
  }

  #watchTarget(path: string): void {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
    try {
      const target = realpathSync(path);
      this.#linkByTarget.set(target, path);
      this.#folders.add(dirname(target));
    } catch {
      // The target is gone.
    }
  }

  /** Watches the folder in which `path` is created or deleted. */
  #watchAbove(path: string): void {
    let above = dirname(path);
    while (!isFolder(above) && above !== dirname(above)) above = dirname(above);
    this.#folders.add(above);
    // A folder on the way to `path` may have been created before the watch began.
    const [next] = path.slice(join(above, sep).length).split(sep);
    const below = join(above, next ?? "");
    if (below !== path && isFolder(below)) this.#watchAbove(path);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

async function firstOf(chunks: AsyncIterable<Uint8Array>): Promise<void> {
  await chunks[Symbol.asyncIterator]().next();
}
