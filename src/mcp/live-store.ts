import { type Stats, statSync } from "node:fs";
import { StoreError } from "../core/errors.ts";
import type { Store } from "../session/store.ts";

/** Opens the store. The command line implements it, because it knows paths and keys. */
export interface StoreAccess {
  openToRead(): Store;
  openToWrite(): Store;
  close(): void;
}

/** After these errors the file may have been replaced or upgraded, so it is opened again. */
const REOPEN_AFTER = ["FILE_REPLACED", "STORE_CORRUPT", "STORE_CLOSED"] as const;

/**
 * The store of a server that runs for days. It is opened when it is first needed, because the server may start before the
 * first import. It is opened again when the file was replaced, restored from a backup, or upgraded.
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

  /** Loads the code for reads and writes, once. */
  load(): Promise<StoreAccess> {
    this.#loading ??= this.#loadAccess().then((access) => {
      this.#access = access;
      return access;
    });
    return this.#loading;
  }

  /** Resolves when no load is under way. */
  async loaded(): Promise<void> {
    await this.#loading?.catch(() => {}); // the caller of `load` gets the error
  }

  /** Runs a read, and repeats it once if the file was replaced. */
  async read<T>(read: (store: Store) => T | Promise<T>): Promise<T> {
    const access = await this.load();
    this.#dropReplaced();
    try {
      return await read(this.#openReader(access));
    } catch (error) {
      if (!REOPEN_AFTER.some((code) => StoreError.is(error, code))) throw error;
      this.close();
      return await read(this.#openReader(access));
    }
  }

  /** Runs a write once, because a failed write may have taken effect. The next one opens the file again. */
  async write<T>(write: (store: Store) => T): Promise<T> {
    const access = await this.load();
    this.#dropReplaced();
    try {
      this.#writer ??= opened(access.openToWrite());
      return write(this.#writer.store);
    } catch (error) {
      if (REOPEN_AFTER.some((code) => StoreError.is(error, code))) this.close();
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

  /** Closes the stores if their file was moved or deleted, because SQLite would still read the old file. */
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
