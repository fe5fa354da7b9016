import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError } from "../core/errors.ts";
import { BATCH_MESSAGES_MAX } from "../core/limits.ts";
import { actionsOfStep } from "../models/actions.ts";
import { searchWords } from "../models/search-words.ts";
import { type FreshMessage, indexTexts, type Repositories } from "../store/index.ts";

const NOTING = { actionsOf: actionsOfStep };

/**
 * Adds all missing messages to the full-text index and to the table of actions, a hundred in each transaction (about 10 ms). In
 * between, the event loop and other processes get a turn. An index with a wrong count is made again. @returns how many messages were
 * read.
 *
 * @throws the signal's reason if it is aborted. Messages that were added stay.
 */
export async function indexTail(repositories: Repositories, options: { signal?: AbortSignal } = {}): Promise<number> {
  let fromScratch = repositories.fullText.wrongClaim() !== undefined;
  for (let count = 0; ; await nextTurn()) {
    options.signal?.throwIfAborted();
    const read = indexTexts(repositories, searchWords, { ...NOTING, fromScratch });
    if (read === 0) return count;
    count += read;
    fromScratch = false;
  }
}

interface IndexNowOptions {
  countMax?: number;
  timeMsMax?: number;
  fresh?: ReadonlyMap<number, FreshMessage>;
}

/** Adds missing messages synchronously. `countMax` is rounded up to a batch. No batch begins after `timeMsMax`. */
export function indexTailNow(
  repositories: Repositories,
  {
    countMax = Number.POSITIVE_INFINITY,
    timeMsMax = Number.POSITIVE_INFINITY,
    fresh = new Map(),
  }: IndexNowOptions = {},
): number {
  const begun = performance.now();
  let count = 0;
  while (count < countMax && performance.now() - begun < timeMsMax) {
    const read = indexTexts(repositories, searchWords, { ...NOTING, fresh });
    if (read === 0) break;
    count += read;
  }
  return count;
}

export interface TextWithWords {
  text: string;
  /** The `searchWords` of the text, with spaces between them, if they are known. */
  searchWords?: string;
}

/** The newest messages that are kept. More wait to be indexed only while another process has the file. */
const FRESH_MAX = 2 * BATCH_MESSAGES_MAX;

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
  /** The newest messages by id, and how many changes were undone before they were stored. A step may go on in the next batch. */
  readonly #fresh = new Map<number, FreshMessage>();
  #rollbackCount = 0;

  constructor(repositories: Repositories) {
    this.#repositories = repositories;
  }

  /**
   * Call it after the transaction that appended messages. It does not fail, because they are stored.
   *
   * @param fresh  Those that it need not read.
   */
  appended(count: number, fresh: readonly FreshMessage[]): void {
    this.#appendedCount += count;
    this.#transactionCount += 1;
    this.#dropUndone();
    for (const one of fresh) this.#fresh.set(one.message.id, one);
    for (const id of this.#fresh.keys()) {
      if (this.#fresh.size <= FRESH_MAX) break;
      this.#fresh.delete(id);
    }
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
    this.#dropUndone();
    const fresh = this.#fresh;
    try {
      this.#repositories.database.withoutWaiting(() => indexTailNow(this.#repositories, { countMax, fresh }));
    } catch (error) {
      if (StoreError.is(error, "STORE_BUSY")) this.#appendedCount = countMax; // the next append tries again
      // The store was closed, the disk is full, or the index is damaged: the next search or append says so.
    }
  }

  /** If a transaction was undone, its ids may be those of other messages now. */
  #dropUndone(): void {
    const { rollbackCount } = this.#repositories.database;
    if (rollbackCount !== this.#rollbackCount) this.#fresh.clear();
    this.#rollbackCount = rollbackCount;
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
