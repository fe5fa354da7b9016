import type { MessagePlace } from "../store/index.ts";
import { HeadDigest } from "./rows.ts";

/** The messages of a session in the store, in order of their ids. Each answer goes on from the one before, as a push does. */
export class OwnPlaces {
  readonly all: readonly MessagePlace[];
  #count = 0;
  #digest = new HeadDigest();

  constructor(all: readonly MessagePlace[]) {
    this.all = all;
  }

  /** How many messages have ids up to this one. */
  countUpTo(lastId: number): number {
    if (this.#count > 0 && this.all[this.#count - 1]!.id > lastId) {
      this.#count = 0;
      this.#digest = new HeadDigest();
    }
    for (; this.#count < this.all.length && this.all[this.#count]!.id <= lastId; this.#count += 1) {
      this.#digest.add(this.all[this.#count]!);
    }
    return this.#count;
  }

  headUpTo(lastId: number): Buffer {
    this.countUpTo(lastId);
    return this.#digest.value();
  }

  upTo(lastId: number): readonly MessagePlace[] {
    return this.all.slice(0, this.countUpTo(lastId));
  }

  idsAfter(lastId: number, most: number): number[] {
    const from = this.countUpTo(lastId);
    return this.all.slice(from, from + most).map(({ id }) => id);
  }
}
