import { StoreError } from "../core/errors.ts";
import type { Store } from "../index.ts";
import { internalsOf } from "../session/opened-store.ts";
import type { Change } from "./api.ts";

/** After these errors, the file may have been replaced or upgraded, so it is opened again. */
const REOPEN_AFTER = ["STORE_CORRUPT", "STORE_CLOSED"] as const;

/** The store that is shown. */
export class ViewStore {
  readonly path: string;
  readonly isWritable: boolean;
  /** Undefined if the store belongs to the program that serves it. */
  readonly #open: (() => Store) | undefined;
  #store: Store;
  readonly #kept = new Map<string, Promise<unknown>>();
  #keptAt: string | undefined;

  constructor(given: Store | (() => Store), isWritable: boolean) {
    this.#open = typeof given === "function" ? given : undefined;
    this.#store = typeof given === "function" ? given() : given;
    this.path = this.#store.path;
    this.isWritable = isWritable;
  }

  /** Reads once more if the file was replaced while it was served. */
  async read<T>(work: (store: Store) => T | Promise<T>): Promise<T> {
    await internalsOf(this.#store).turnToRead();
    try {
      return await work(this.#store);
    } catch (error) {
      if (this.#open === undefined || !REOPEN_AFTER.some((code) => StoreError.is(error, code))) throw error;
      const store = this.#open();
      this.close();
      this.#store = store;
      return await work(store);
    }
  }

  /** As `read`, for what takes long. An answer is kept until the store changes. @param key  Names the work and what it was asked for. */
  async readOnce<T>(key: string, work: (store: Store) => T | Promise<T>): Promise<T> {
    const position = JSON.stringify(this.position());
    if (position !== this.#keptAt) this.#kept.clear();
    this.#keptAt = position;
    const kept = this.#kept.get(key) as Promise<T> | undefined;
    if (kept !== undefined) return kept;
    const answer = this.read(work);
    this.#kept.set(key, answer);
    answer.catch(() => this.#kept.get(key) === answer && this.#kept.delete(key));
    return answer;
  }

  /** @throws {StoreError} `STORE_READONLY`. */
  write<T>(operation: string, work: (store: Store) => T): T {
    if (!this.isWritable) throw new StoreError("STORE_READONLY", { path: this.path, operation });
    return work(this.#store);
  }

  /** What tells that the store has changed, in microseconds. */
  position(): Omit<Change, "sessions"> & { dataVersion: number; ownChanges: number } {
    return internalsOf(this.#store).position();
  }

  close(): void {
    if (this.#open !== undefined) this.#store.close();
  }
}
