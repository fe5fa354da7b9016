import { setImmediate } from "node:timers/promises";

/** Other code may run after this many characters, which take a few milliseconds. */
const SLICE_CHARS = 16_000;

/** Interrupts long work every few milliseconds, so that other code can run. */
export class Pace {
  #signal: AbortSignal;
  #chars = 0;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.throwIfAborted();
  }

  /** @throws the signal's reason if aborted. */
  async worked(chars: number): Promise<void> {
    this.#chars += chars;
    if (this.#chars < SLICE_CHARS) return;
    this.#chars = 0;
    await setImmediate();
    this.#signal.throwIfAborted();
  }
}
