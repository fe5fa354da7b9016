/** Two byte strings that differ in one range: the first `start` bytes are the same, and the last `end` bytes. */
export interface Difference {
  start: number;
  end: number;
}

/** Finds the smallest range in which two byte strings differ. The parts that are the same do not overlap. */
export function differenceOf(older: Uint8Array, newer: Uint8Array): Difference {
  const shorter = Math.min(older.length, newer.length);
  let start = 0;
  while (start + BLOCK_BYTES <= shorter && isSameBlock(older, start, newer, start)) start += BLOCK_BYTES;
  while (start < shorter && older[start] === newer[start]) start++;
  const [olderEnd, newerEnd] = [older.length - BLOCK_BYTES, newer.length - BLOCK_BYTES];
  let end = 0;
  while (end + BLOCK_BYTES <= shorter - start && isSameBlock(older, olderEnd - end, newer, newerEnd - end)) {
    end += BLOCK_BYTES;
  }
  while (end < shorter - start && older[older.length - 1 - end] === newer[newer.length - 1 - end]) end++;
  return { start, end };
}

/** Blocks are compared by native code, which takes a hundredth of the time. */
const BLOCK_BYTES = 8_192;

function isSameBlock(older: Uint8Array, olderStart: number, newer: Uint8Array, newerStart: number): boolean {
  const block = older.subarray(olderStart, olderStart + BLOCK_BYTES);
  return Buffer.compare(block, newer.subarray(newerStart, newerStart + BLOCK_BYTES)) === 0;
}

/** Returns the newer byte string: the older one, with `inserted` in place of the range that differs. */
export function applyDifference(older: Uint8Array, { start, end }: Difference, inserted: Uint8Array): Uint8Array {
  return Buffer.concat([older.subarray(0, start), inserted, older.subarray(older.length - end)]);
}

/** The elements of a JSON list that were changed, and where each element of it begins. */
export interface ChangedElements {
  changed: number[];
  starts: readonly number[];
}

/**
 * Returns the indexes of the elements of a JSON list that lie, at least in part, in the range that differs. The list is written
 * without white space between its elements, as `JSON.stringify` writes it.
 *
 * @param olderStarts  Where the elements of the older list begin. Then only what is not the same is read.
 */
export function changedElements(
  json: Uint8Array,
  { start, end }: Difference,
  olderStarts: readonly number[] = [],
): ChangedElements {
  const changed: number[] = [];
  const first = Math.max(
    0,
    olderStarts.findLastIndex((at) => at <= start),
  );
  const starts = olderStarts.length === 0 ? [1] : olderStarts.slice(0, first + 1);
  let elementStart = starts.at(-1)!;
  let depth = 1;
  let isInString = false;
  for (let at = elementStart; at < json.length; at++) {
    const byte = json[at]!;
    if (isInString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isInString = false;
      continue;
    }
    if (byte === QUOTE) isInString = true;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    const isEnd = depth === 0 || (depth === 1 && byte === COMMA);
    if (!isEnd) continue;
    if (at > start && elementStart < json.length - end && at > elementStart) changed.push(starts.length - 1);
    if (depth === 0) break;
    elementStart = at + 1;
    starts.push(elementStart);
  }
  return { changed, starts };
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
