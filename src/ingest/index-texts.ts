import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { searchWords } from "../models/search-words.ts";
import type { Repositories } from "../store/repositories.ts";
import { indexTexts } from "../store/write.ts";

/**
 * Adds all missing messages to the full-text index, a hundred in each transaction (about 10 ms). In between, the event
 * loop and other processes get a turn. @returns the number of messages added.
 *
 * @throws the signal's reason if it is aborted. Messages that were added stay.
 */
export async function indexTail(repositories: Repositories, options: { signal?: AbortSignal } = {}): Promise<number> {
  for (let count = 0; ; await nextTurn()) {
    options.signal?.throwIfAborted();
    const indexed = indexTexts(repositories, searchWords);
    if (indexed === 0) return count;
    count += indexed;
  }
}

/** Adds missing messages synchronously. `countMax` is rounded up to a batch. No batch begins after `timeMsMax`. */
export function indexTailNow(
  repositories: Repositories,
  { countMax = Number.POSITIVE_INFINITY, timeMsMax = Number.POSITIVE_INFINITY } = {},
): number {
  const begun = performance.now();
  let count = 0;
  while (count < countMax && performance.now() - begun < timeMsMax) {
    const indexed = indexTexts(repositories, searchWords);
    if (indexed === 0) break;
    count += indexed;
  }
  return count;
}

/** After this many transactions, the log has about half of the pages at which a commit writes it to the file. */
const CHECKPOINT_TRANSACTIONS = 200;

/**
 * Keeps the tail of the full-text index and the write-ahead log short. After a hundred appended messages it indexes as many: at
 * once if they came together, and otherwise when the event loop is idle, so that no single append waits for it. It never waits for
 * another process.
 */
export class TailIndexer {
  readonly #repositories: Repositories;
  #appendedCount = 0;
  #transactionCount = 0;
  #isWaiting = false;

  constructor(repositories: Repositories) {
    this.#repositories = repositories;
  }

  /** Call it after the transaction that appended this many messages. It does not fail, because they are stored. */
  appended(count: number): void {
    this.#appendedCount += count;
    this.#transactionCount += 1;
    if (count >= BATCH_MESSAGES_MAX) this.#index();
    else if (this.#appendedCount >= BATCH_MESSAGES_MAX && !this.#isWaiting) {
      this.#isWaiting = true;
      setImmediate(() => {
        this.#isWaiting = false;
        this.#index();
        if (this.#transactionCount >= CHECKPOINT_TRANSACTIONS) this.#checkpoint();
      });
    }
  }

  #index(): void {
    const countMax = this.#appendedCount;
    this.#appendedCount = 0;
    try {
      this.#repositories.database.withoutWaiting(() => indexTailNow(this.#repositories, { countMax }));
    } catch (error) {
      if (StoreError.is(error, "STORE_BUSY")) this.#appendedCount = countMax; // the next append tries again
      // The store was closed, the disk is full, or the index is damaged: the next search or append says so.
    }
  }

  #checkpoint(): void {
    this.#transactionCount = 0;
    try {
      this.#repositories.database.checkpoint();
    } catch {
      // The store was closed, or the disk is full: the next append says so.
    }
  }
}
