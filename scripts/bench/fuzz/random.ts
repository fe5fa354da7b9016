import { randomFrom } from "../messages.ts";

/** Draws from a generator of pseudo-random numbers. */
export class Random {
  readonly #next: () => number;

  /** @param key  Equal keys give equal draws. */
  constructor(key: string) {
    let hash = 0x811c9dc5;
    for (let index = 0; index < key.length; index++) hash = Math.imul(hash ^ key.charCodeAt(index), 0x01000193);
    this.#next = randomFrom(hash);
  }

  /** Returns a whole number from 0 to `end - 1`. */
  below(end: number): number {
    return Math.floor(this.#next() * end);
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** Calls `make` up to `countMax` times, at least once. */
  some<T>(countMax: number, make: () => T): T[] {
    return Array.from({ length: 1 + this.below(countMax) }, make);
  }
}
