import { type Stats, statSync } from "node:fs";
import { StoreError } from "../core/errors.ts";
import type { Store } from "../session/store.ts";

/** How the store is opened; a surface that knows paths and keys says so. */
export interface StoreAccess {
  openToRead(): Store;
  openToWrite(): Store;
  close(): void;
}

/** After these the file may be another one, or of another version, than was opened; a new look at it may succeed. */
const WORTH_ANOTHER_LOOK = ["FILE_REPLACED", "STORE_CORRUPT", "STORE_CLOSED"] as const;

/**
 * The store of a server that lives for days: opened when it is first needed, as the server starts before the first import;
 * and opened anew when the file at its path has become another, was restored from a backup, or was brought to a new version.
 */
export class LiveStore {
  readonly #loadAccess: () => Promise<StoreAccess>;
  #loading: Promise<StoreAccess> | undefined;
  #access: StoreAccess | undefined;
  #reader: OpenStore | undefined;
  #writer: OpenStore | undefined;

  /** @param loadAccess  Loads the code that opens stores. */
  constructor(loadAccess: () => Promise<StoreAccess>) {
    this.#loadAccess = loadAccess;
  }

  /** Have at hand what reads and writes would load otherwise. */
  load(): Promise<StoreAccess> {
    this.#loading ??= this.#loadAccess().then((access) => {
      this.#access = access;
      return access;
    });
    return this.#loading;
  }

  /** Over when nothing is being loaded that somebody has asked for. */
  async loaded(): Promise<void> {
    await this.#loading?.catch(() => {}); // whoever asked is told
  }

  /** Run a read, once more where the file had changed under it. @throws what opening and reading throw. */
  async read<T>(read: (store: Store) => T | Promise<T>): Promise<T> {
    const access = await this.load();
    this.#dropReplaced();
    try {
      return await read(this.#openReader(access));
    } catch (error) {
      if (!WORTH_ANOTHER_LOOK.some((code) => StoreError.is(error, code))) throw error;
      this.close();
      return await read(this.#openReader(access));
    }
  }

  /** Run a write, once: what failed may have been done. A later one finds the file as it is then. */
  async write<T>(write: (store: Store) => T): Promise<T> {
    const access = await this.load();
    this.#dropReplaced();
    try {
      this.#writer ??= opened(access.openToWrite());
      return write(this.#writer.store);
    } catch (error) {
      if (WORTH_ANOTHER_LOOK.some((code) => StoreError.is(error, code))) this.close();
      throw error;
    }
  }

  close(): void {
    this.#reader = undefined;
    this.#writer = undefined;
    this.#access?.close();
  }

  #openReader(access: StoreAccess): Store {
    this.#reader ??= opened(access.openToRead());
    return this.#reader.store;
  }

  /** SQLite would go on reading a file that has been moved away or deleted. */
  #dropReplaced(): void {
    if ([this.#reader, this.#writer].some((open) => open !== undefined && !isInPlace(open))) this.close();
  }
}

interface OpenStore {
  store: Store;
  file: Stats | undefined;
}

function opened(store: Store): OpenStore {
  return { store, file: lookAt(store.path) };
}

function isInPlace({ store, file }: OpenStore): boolean {
  const found = lookAt(store.path);
  return found !== undefined && found.ino === file?.ino && found.dev === file.dev;
}

function lookAt(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
