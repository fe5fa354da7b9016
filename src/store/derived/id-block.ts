/** How many ids a block has: see id-blocks.ts. No store has as many rows. */
export const ID_BLOCK_SIZE = 2 ** 28;

/** Ids are whole numbers below 2^53. The last blocks stay free, so that a store can always take another one. */
export const BLOCK_MAX = 2 ** 25 - 2 ** 14;

export function blockOf(id: number): number {
  return Math.floor(id / ID_BLOCK_SIZE);
}

/** The first and the last id of a block. */
export type IdRange = readonly [first: number, last: number];

/** How many places there are in ranges of ids: as many as messages, and those of forgotten ones. */
export function placeCountOf(ranges: readonly IdRange[]): number {
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** Returns the id at a place, counted from 0 over all ranges. */
export function idAt(ranges: readonly IdRange[], place: number): number {
  let rest = place;
  for (const [first, last] of ranges) {
    if (first + rest <= last) return first + rest;
    rest -= last - first + 1;
  }
  throw new RangeError(`there are fewer than ${place + 1} ids`);
}
