import { setImmediate as nextTurn } from "node:timers/promises";
import { searchWords } from "../models/search-words.ts";
import type { Repositories } from "../store/repositories.ts";
import { indexTexts } from "../store/write.ts";

/**
 * Bring every message that is not yet in the full-text index into it, a hundred in a transaction (some 10 ms), with a turn of
 * the event loop, and of other processes, after each.
 *
 * @returns how many came into it.
 * @throws the signal's reason when it is aborted; what is indexed by then stays.
 */
export async function indexTail(repositories: Repositories, options: { signal?: AbortSignal } = {}): Promise<number> {
  for (let count = 0; ; await nextTurn()) {
    options.signal?.throwIfAborted();
    const indexed = indexTexts(repositories, searchWords);
    if (indexed === 0) return count;
    count += indexed;
  }
}

/**
 * The same at once, as far as it may take.
 *
 * @param options.countMax  Messages from which on it ends, rounded up to a whole batch; all unless given.
 * @param options.timeMsMax  Milliseconds from which on it ends, after the batch then under way.
 */
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
