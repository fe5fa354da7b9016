import { setImmediate as nextTurn } from "node:timers/promises";
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
