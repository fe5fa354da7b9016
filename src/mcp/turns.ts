import type { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The calls that may wait before no more messages are taken. */
export const WAITING_MAX = 64;

/** The calls that may be at work at the same time. Only those that wait for a vector take longer than their turn. */
export const WORKING_MAX = 8;

/**
 * Makes calls run one after another, because each blocks the thread. Before each, the event loop runs, so that a client that is
 * gone is noticed, and the client has taken the answers before it, so that they do not pile up.
 */
export class Turns {
  readonly #output: Writable;
  #last: Promise<void> = Promise.resolve();
  #waitingCount = 0;
  #workingCount = 0;
  #wake = (): void => {};
  #isOver = false;

  constructor(output: Writable) {
    this.#output = output;
  }

  /**
   * Does the work of a call after the work of the calls before it has begun. Never resolves after `end`, because nobody waits for
   * the call.
   *
   * @param ready  What the call waits for as well. Its failure is the caller's to report.
   * @throws what `work` throws; or the signal's reason, if it was aborted before the work began.
   */
  async take<T>(ready: Promise<unknown>, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    this.#waitingCount += 1;
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
    await this.#drained();
    if (this.#isOver) await new Promise(() => {});
    this.#waitingCount -= 1;
  }

  /** Waits until another message may be taken. */
  async room(): Promise<void> {
    await nextTurn();
    if (this.#waitingCount >= WAITING_MAX) await this.#last;
    await this.#drained();
  }

  /** Waits until all calls had their turn. */
  async idle(): Promise<void> {
    await nextTurn();
    await this.#last;
    await nextTurn();
  }

  end(): void {
    this.#isOver = true;
  }

  async #drained(): Promise<void> {
    if (this.#output.writableNeedDrain) await new Promise((resolve) => this.#output.once("drain", resolve));
  }
}
