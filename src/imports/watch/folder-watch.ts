import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, join } from "node:path";

interface FolderWatchOptions {
  /** Called when a file or folder may be new, changed or gone. */
  onChange: (path: string) => void;
  onExhausted: (reason: string) => void;
}

const EXHAUSTED: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EMFILE", "ENFILE"]);

/** Watches folders, without their subfolders. The caller adds each folder before reading it, and again after it was replaced. */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  readonly #watches = new Map<string, { watcher: FSWatcher; inode: number }>();

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  /** Does nothing if the folder is watched already, is gone, or may not be read. */
  add(folder: string): void {
    const inode = inodeOf(folder);
    const known = this.#watches.get(folder);
    if (inode === undefined || known?.inode === inode) return;
    this.#remove(folder);
    try {
      const watcher = watch(folder, (_, name) => this.#changed(folder, name));
      watcher.on("error", () => this.#remove(folder));
      this.#watches.set(folder, { watcher, inode });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (EXHAUSTED.has(code)) this.#options.onExhausted(message);
    }
  }

  close(): void {
    for (const folder of this.#watches.keys()) this.#remove(folder);
  }

  #changed(folder: string, name: string | null): void {
    if (name !== null) this.#options.onChange(join(folder, name));
    // The event of a deleted folder has the folder's own name.
    if (name !== null && name !== basename(folder)) return;
    if (this.#watches.get(folder)?.inode !== inodeOf(folder)) this.#remove(folder);
    this.#options.onChange(folder);
  }

  #remove(folder: string): void {
    this.#watches.get(folder)?.watcher.close();
    this.#watches.delete(folder);
  }
}

function inodeOf(path: string): number | undefined {
  try {
    return statSync(path).ino;
  } catch {
    return undefined;
  }
}
