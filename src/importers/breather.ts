import { setImmediate as nextTurn } from "node:timers/promises";

/** The longest that work goes on before the process can attend to signals and timers, in milliseconds. */
const BUSY_MS_MAX = 20;

/** Interrupts long work that waits for nothing, so that Ctrl-C is noticed. */
export class Breather {
  readonly #signal: AbortSignal | undefined;
  #sinceMs = performance.now();

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Call it often. @throws the signal's reason. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#sinceMs < BUSY_MS_MAX) return;
    await nextTurn();
    this.#signal?.throwIfAborted();
    this.#sinceMs = performance.now();
  }
}
