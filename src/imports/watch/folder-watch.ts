import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, join } from "node:path";

export interface FolderWatchOptions {
  /** Something has happened to this file or folder: it is new, was written to, or is gone. */
  onChange: (path: string) => void;
  /** The system watches no more folders for us. */
  onExhausted: (reason: string) => void;
}

/** What the system says when it has no more watches to give. */
const EXHAUSTED: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EMFILE", "ENFILE"]);

/**
 * Watches folders, each by itself: one watch tells of every file in it, so that thousands of files cost nothing.
 *
 * Who watches adds each folder before reading it, and adds those that come to be; a folder that was put in the place of
 * another is added anew. Events say that something may have changed, and no more.
 */
export class FolderWatch {
  readonly #options: FolderWatchOptions;
  readonly #watches = new Map<string, { watcher: FSWatcher; inode: number }>();

  constructor(options: FolderWatchOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#watches.size;
  }

  /** Watch a folder that may be watched already. One that is gone or may not be read is passed over. */
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
    // A folder that goes says so under its own name.
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
