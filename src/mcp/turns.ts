import type { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The most calls that run at the same time. Calls overlap only while they wait for a vector. */
export const WORKING_MAX = 8;

/**
 * Runs calls one after another, because each blocks the thread. Before each call, the event loop runs, so that it is noticed if the
 * client has gone. A call waits until the client has taken the earlier answers, so that they do not pile up.
 */
export class Turns {
  readonly #output: Writable;
  #last: Promise<void> = Promise.resolve();
  #workingCount = 0;
  #wake = (): void => {};
  #isOver = false;

  constructor(output: Writable) {
    this.#output = output;
  }

  /**
   * Runs a call once all calls before it have begun. After `end`, it never resolves, because nobody waits for the call.
   *
   * @param ready  The call also waits for this promise. If it rejects, the call runs anyway, and reports the failure.
   * @throws what `work` throws; or the signal's reason, if it was aborted before the work began.
   */
  async take<T>(ready: Promise<unknown>, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#last = this.#next(this.#last, ready);
    await this.#last;
    signal?.throwIfAborted();
    this.#workingCount += 1;
    try {
      return await work();
    } finally {
      this.#workingCount -= 1;
      this.#wake();
    }
  }

  async #next(before: Promise<void>, ready: Promise<unknown>): Promise<void> {
    await before;
    await ready.catch(() => {});
    await nextTurn();
    while (this.#workingCount >= WORKING_MAX) await new Promise<void>((resolve) => (this.#wake = resolve));
    await drained(this.#output);
    if (this.#isOver) await new Promise(() => {});
  }

  /** Waits until all calls have had their turn. */
  async idle(): Promise<void> {
    await nextTurn();
    await this.#last;
    await nextTurn();
  }

  end(): void {
    this.#isOver = true;
  }
}

/** Waits until the client takes what was written. */
export async function drained(output: Writable): Promise<void> {
  if (output.writableNeedDrain) await new Promise((resolve) => output.once("drain", resolve));
}
