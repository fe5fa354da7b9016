/** The number of ids that share one block of memory. */
const BLOCK = 4_096;

/** Whole numbers from 1 to 2³² - 1 by message id. Dense ids take 4 bytes each; a map would take forty. */
export class KeptNumbers {
  readonly #blocks = new Map<number, Uint32Array>();

  /** Returns 0 if there is none. */
  get(messageId: number): number {
    return this.#blocks.get(Math.floor(messageId / BLOCK))?.[messageId % BLOCK] ?? 0;
  }

  set(messageId: number, value: number): void {
    const key = Math.floor(messageId / BLOCK);
    let block = this.#blocks.get(key);
    if (block === undefined) {
      block = new Uint32Array(BLOCK);
      this.#blocks.set(key, block);
    }
    block[messageId % BLOCK] = value;
  }

  clear(): void {
    this.#blocks.clear();
  }
}
