import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StoreError } from "../core/errors.ts";
import { readingEmbedder, silentEmbedder, storedEmbedder } from "../session/embedder-choice.ts";
import { openStore } from "../session/opened-store.ts";
import type { OpenOptions, Store } from "../session/store.ts";
import { Failure } from "./failure.ts";
import { defaultStorePath } from "./store-path.ts";

/** The stores that a command has opened, usually one. */
export class OpenedStores {
  readonly #path: string;
  readonly #isDefault: boolean;
  readonly #opened: Store[] = [];
  readonly #folders: string[] = [];

  /** @param path  The value of `--db`, if any. */
  constructor(path: string | undefined) {
    this.#isDefault = path === undefined;
    this.#path = path ?? defaultStorePath({ env: process.env, platform: process.platform, home: homedir() });
  }

  /**
   * Opens the store for reading. A store that is open already is returned again.
   *
   * @throws {Failure} with a hint to import if the file does not exist; what `openStore` throws.
   */
  openToRead(): Store {
    return this.#opened[0] ?? this.#open({ readonly: true, mustExist: true, embedder: readingEmbedder });
  }

  /** @param options.mustExist  Refuses to create a store, as `openToRead` does. */
  openToWrite(options: { mustExist?: boolean } & Pick<OpenOptions, "summarizer"> = {}): Store {
    return this.#open({ mustExist: false, ...options, readonly: false, embedder: storedEmbedder });
  }

  /** Opens the store although its embedder may be unknown, so that another can replace it. */
  openToReembed(): Store {
    return this.#open({ readonly: false, mustExist: true, embedder: silentEmbedder });
  }

  /** Opens a copy that `close` deletes. Changes to the copy never reach the store. */
  async openToTry(): Promise<Store> {
    const folder = mkdtempSync(join(tmpdir(), "coppice-try-"));
    this.#folders.push(folder);
    const path = join(folder, "copy.db");
    if (existsSync(this.#path)) await this.openToRead().backup(path);
    const store = openStore(path, { embedder: silentEmbedder });
    this.#opened.push(store);
    return store;
  }

  /** Closes all stores and deletes all copies. Stores can be opened again afterwards. */
  close(): void {
    for (const store of this.#opened.splice(0)) store.close();
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }

  #open({ mustExist, ...options }: OpenOptions & { readonly: boolean; mustExist: boolean }): Store {
    if (mustExist && !existsSync(this.#path)) {
      const cause = new StoreError("FILE_NOT_FOUND", { path: this.#path });
      const hint = "Import something first with `coppice import <path>`, or name another store with `--db`.";
      throw new Failure(cause.code, cause.message, { hint, cause });
    }
    // A missing folder in `--db` may be a typing error, so only the default folder is created.
    if (this.#isDefault && !options.readonly) createPrivateFolder(dirname(this.#path));
    const store = openStore(this.#path, options);
    this.#opened.push(store);
    return store;
  }
}

/** @throws {StoreError} `FILE_NOT_USABLE`. */
function createPrivateFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreError("FILE_NOT_USABLE", { path, reason: `the folder cannot be made: ${(error as Error).message}` });
  }
}
