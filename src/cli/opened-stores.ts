import { existsSync, mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname } from "node:path";
import { StoreError } from "../core/errors.ts";
import { type OpenOptions, openStore, type Store } from "../session/store.ts";
import { Failure } from "./failure.ts";
import { defaultStorePath } from "./store-path.ts";

/** The stores that a command has opened, of which there is hardly ever more than one. */
export class OpenedStores {
  readonly #path: string;
  readonly #isDefault: boolean;
  readonly #opened: Store[] = [];

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
    return this.#opened[0] ?? this.#open({ readonly: true, mustExist: true });
  }

  /** @param options.mustExist  Refuse to make a new store, as `openToRead` does. */
  openToWrite({
    mustExist = false,
    ...options
  }: { mustExist?: boolean } & Pick<OpenOptions, "summarizer"> = {}): Store {
    return this.#open({ readonly: false, mustExist }, options);
  }

  close(): void {
    for (const store of this.#opened) store.close();
  }

  #open({ readonly, mustExist }: { readonly: boolean; mustExist: boolean }, options: OpenOptions = {}): Store {
    if (mustExist && !existsSync(this.#path)) {
      const { code, message } = new StoreError("FILE_NOT_FOUND", { path: this.#path });
      const hint = "Import something into it first, `coppice import <path>`, or name another store with `--db`.";
      throw new Failure(code, message, { hint });
    }
    // Conversations are nobody else's business. A folder that `--db` names is not made: it may be a slip of the pen.
    if (this.#isDefault && !readonly) mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const store = openStore(this.#path, { ...options, readonly });
    this.#opened.push(store);
    return store;
  }
}
