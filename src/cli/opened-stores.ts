import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { StoreError } from "../core/errors.ts";
import { readingEmbedder, replacedEmbedder, storedEmbedder, triedEmbedder } from "../session/embedder-choice.ts";
import { openStore } from "../session/opened-store.ts";
import type { OpenOptions, Store } from "../session/store.ts";
import { Failure } from "./failure.ts";
import { defaultStorePath } from "./store-path.ts";

/** The stores that a command has opened, of which there is hardly ever more than one. */
export class OpenedStores {
  readonly #path: string;
  readonly #isDefault: boolean;
  readonly #opened: Store[] = [];
  readonly #folders: string[] = [];

  /** @param path  What `--db` says, if anything. */
  constructor(path: string | undefined) {
    this.#isDefault = path === undefined;
    this.#path = path ?? defaultStorePath({ env: process.env, platform: process.platform, home: homedir() });
  }

  /**
   * One that is open already serves.
   *
   * @throws {Failure} with a hint to import where there is no such file; what `openStore` throws.
   */
  openToRead(): Store {
    return this.#opened[0] ?? this.#open({ readonly: true, mustExist: true, embedder: readingEmbedder });
  }

  /** @param options.mustExist  Refuse to make a new store, as `openToRead` does. */
  openToWrite(options: { mustExist?: boolean } & Pick<OpenOptions, "summarizer"> = {}): Store {
    return this.#open({ mustExist: false, ...options, readonly: false, embedder: storedEmbedder });
  }

  /** To replace the embedder that it was written with, whatever that is. */
  openToReembed(): Store {
    return this.#open({ readonly: false, mustExist: true, embedder: replacedEmbedder });
  }

  /** A copy that is thrown away at the end: what is done to it is as if it had not been done. */
  async openToTry(): Promise<Store> {
    const folder = mkdtempSync(join(tmpdir(), "coppice-try-"));
    this.#folders.push(folder);
    const path = join(folder, "copy.db");
    if (existsSync(this.#path)) await this.openToRead().backup(path);
    const store = openStore(path, { embedder: triedEmbedder });
    this.#opened.push(store);
    return store;
  }

  /** What is opened after that is opened anew. */
  close(): void {
    for (const store of this.#opened.splice(0)) store.close();
    for (const folder of this.#folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  }

  #open({ mustExist, ...options }: OpenOptions & { readonly: boolean; mustExist: boolean }): Store {
    if (mustExist && !existsSync(this.#path)) {
      const cause = new StoreError("FILE_NOT_FOUND", { path: this.#path });
      const hint = "Import something into it first, `coppice import <path>`, or name another store with `--db`.";
      throw new Failure(cause.code, cause.message, { hint, cause });
    }
    // Conversations are nobody else's business. A folder that `--db` names is not made: it may be a slip of the pen.
    if (this.#isDefault && !options.readonly) makeFolder(dirname(this.#path));
    const store = openStore(this.#path, options);
    this.#opened.push(store);
    return store;
  }
}

/** @throws {StoreError} `FILE_NOT_USABLE`. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new StoreError("FILE_NOT_USABLE", { path, reason: `the folder cannot be made: ${(error as Error).message}` });
  }
}
