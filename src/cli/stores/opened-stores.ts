import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StoreError } from "../../core/errors.ts";
import { readingEmbedder, silentEmbedder, storedEmbedder } from "../../session/embedder-choice.ts";
import { openStore } from "../../session/opened-store.ts";
import type { OpenOptions, Store } from "../../session/store.ts";
import { storePath } from "./store-path.ts";

/** Opens the store of a command, and closes everything that was opened. */
export class OpenedStores {
  readonly path: string;
  readonly #isDefault: boolean;
  readonly #opened: Store[] = [];
  readonly #folders: string[] = [];

  constructor(path: string | undefined) {
    this.#isDefault = path === undefined;
    this.path = storePath(path);
  }

  /** Opens the store for reading, or returns the one that is already open. */
  openToRead(): Store {
    return this.#opened[0] ?? this.#open({ readonly: true, embedder: readingEmbedder });
  }

  /** @param options.mustExist  Throws if there is no store, instead of creating one. */
  openToWrite({
    mustExist = false,
    ...options
  }: { mustExist?: boolean } & Pick<OpenOptions, "summarizer"> = {}): Store {
    if (mustExist) this.#assertExists();
    // Only the default folder is created. A missing folder in `--db` may be a typing error.
    if (this.#isDefault) createPrivateFolder(dirname(this.path));
    return this.#open({ ...options, embedder: storedEmbedder });
  }

  /** Opens the store even if its embedder is unknown, so that `reembed` can replace it. */
  openToReembed(): Store {
    this.#assertExists();
    return this.#open({ embedder: silentEmbedder });
  }

  /** Opens a temporary copy of the store, or an empty one if there is no store. `close` deletes it. */
  async openCopy(): Promise<Store> {
    const folder = mkdtempSync(join(tmpdir(), "coppice-try-"));
    this.#folders.push(folder);
    const path = join(folder, "copy.db");
    if (existsSync(this.path)) await this.openToRead().backup(path);
    return this.#open({ embedder: silentEmbedder }, path);
  }

  /** Opens another file, to put it in the place of the store. The default folder may be missing. */
  openBackup(path: string): Store {
    if (this.#isDefault) createPrivateFolder(dirname(this.path));
    return this.#open({ readonly: true, embedder: readingEmbedder }, path);
  }

  /** Stores can be opened again afterwards. */
  close(): void {
    for (const store of this.#opened.splice(0)) store.close();
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }

  #open(options: OpenOptions, path = this.path): Store {
    if (options.readonly && path === this.path) this.#assertExists();
    const store = openStore(path, options);
    this.#opened.push(store);
    return store;
  }

  #assertExists(): void {
    if (existsSync(this.path)) return;
    const hint =
      "`coppice watch --once` creates a store from what your agents wrote, `coppice import <path>` from other files, and " +
      "`--db FILE` opens a different one.";
    throw Object.assign(new StoreError("FILE_NOT_FOUND", { path: this.path }), { hint });
  }
}

function createPrivateFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreError("FILE_NOT_USABLE", { path, reason: `the folder cannot be made: ${(error as Error).message}` });
  }
}
