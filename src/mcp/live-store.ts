import { type Stats, statSync } from "node:fs";
import { StoreError } from "../core/errors.ts";
import type { Store } from "../session/store.ts";
import type { Turns } from "./turns.ts";

/** Opens the server's store. The command line implements it, because it knows paths and keys. */
export interface StoreAccess {
  openToRead(): Store;
  openToWrite(): Store;
  close(): void;
}

export interface StoreOfCall {
  /** Repeats the read once if the file was replaced. */
  read<T>(work: (store: Store) => T | Promise<T>): Promise<T>;
  /** Never repeats a write, because a failed write may have taken effect. The next write opens the file again. */
  write<T>(work: (store: Store) => T): Promise<T>;
}

/** After these errors, the file may have been replaced or upgraded, so it is opened again. */
const REOPEN_AFTER = ["STORE_CORRUPT", "STORE_CLOSED"] as const;

/**
 * The store of a server that runs for days. It is opened when it is first needed, because the server may start before the first
 * import. It is opened again when the file was replaced, restored from a backup, or upgraded.
 */
export class LiveStore {
  readonly #loadAccess: () => Promise<StoreAccess>;
  readonly #turns: Turns;
  #loading: Promise<StoreAccess> | undefined;
  #access: StoreAccess | undefined;
  #open: { openToRead?: OpenStore; openToWrite?: OpenStore } = {};

  constructor(loadAccess: () => Promise<StoreAccess>, turns: Turns) {
    this.#loadAccess = loadAccess;
    this.#turns = turns;
  }

  /** Loads the code once. */
  async load(): Promise<StoreAccess> {
    this.#loading ??= this.#loadAccess();
    this.#access = await this.#loading;
    return this.#access;
  }

  async loaded(): Promise<void> {
    await this.#loading?.catch(() => {}); // the caller of `load` gets the error
  }

  /** Returns the store for one call. A call that was cancelled before its turn is not run. */
  of(signal?: AbortSignal): StoreOfCall {
    return {
      read: (work) => this.#turns.take(this.load(), signal, () => this.#read(work)),
      write: (work) => this.#turns.take(this.load(), signal, () => this.#write(work)),
    };
  }

  async #read<T>(work: (store: Store) => T | Promise<T>): Promise<T> {
    try {
      return await work(await this.#opened("openToRead"));
    } catch (error) {
      if (!isOfReplaced(error)) throw error;
      this.close();
      return await work(await this.#opened("openToRead"));
    }
  }

  async #write<T>(work: (store: Store) => T): Promise<T> {
    try {
      return work(await this.#opened("openToWrite"));
    } catch (error) {
      if (isOfReplaced(error)) this.close();
      throw error;
    }
  }

  close(): void {
    this.#open = {};
    this.#access?.close();
  }

  /** Closes stores whose file was moved or deleted, because SQLite would still read the old file. */
  async #opened(how: "openToRead" | "openToWrite"): Promise<Store> {
    const access = await this.load();
    if (Object.values(this.#open).some((open) => !isInPlace(open))) this.close();
    const store = this.#open[how]?.store ?? access[how]();
    this.#open[how] ??= { store, file: lookAt(store.path) };
    return store;
  }
}

function isOfReplaced(error: unknown): boolean {
  return REOPEN_AFTER.some((code) => StoreError.is(error, code));
}

interface OpenStore {
  store: Store;
  file: Stats | undefined;
}

function isInPlace({ store, file }: OpenStore): boolean {
  const found = lookAt(store.path);
  return found !== undefined && found.ino === file?.ino && found.dev === file.dev;
}

function lookAt(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}
