import type { Random } from "./random.ts";

/** Something that is fuzzed. It exists while its store is open. */
export interface OpenTarget {
  /**
   * Feeds one input.
   *
   * @throws any error but the library's own, which are expected.
   */
  feed(random: Random): Promise<void>;
  /** @throws if the inputs together have left the store damaged. */
  close(): Promise<void>;
}

export interface Target {
  /** @param folder  An empty folder. It is also the working directory. */
  open(folder: string): Promise<OpenTarget>;
}

/** An error that is not one of the library's own. */
export class UntypedError extends Error {}
