import type { Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The calls that may wait before no more messages are taken. */
const WAITING_MAX = 64;

/**
 * Makes calls run one after another, because each blocks the thread. Before each, the event loop runs, so that a client that is
 * gone is noticed, and the client has taken the answers before it, so that they do not pile up.
 */
export class Turns {
  readonly #output: Writable;
  #last: Promise<void> = Promise.resolve();
  #waitingCount = 0;
  #isOver = false;

  constructor(output: Writable) {
    this.#output = output;
  }

  /**
   * Waits for the calls before this one. Never resolves after `end`, because nobody waits for the call.
   *
   * @param ready  What the call waits for as well. Its failure is the caller's to report.
   */
  next(ready: Promise<unknown>): Promise<void> {
    this.#waitingCount += 1;
    const before = this.#last;
    this.#last = (async () => {
      await before;
      await ready.catch(() => {});
      await nextTurn();
      await this.#drained();
      if (this.#isOver) await new Promise(() => {});
      this.#waitingCount -= 1;
    })();
    return this.#last;
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
