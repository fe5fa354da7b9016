/** Two byte strings that differ in one range: the first `start` bytes are the same, and the last `end` bytes. */
export interface Difference {
  start: number;
  end: number;
}

/** Finds the smallest range in which two byte strings differ. The parts that are the same do not overlap. */
export function differenceOf(older: Uint8Array, newer: Uint8Array): Difference {
  const shorter = Math.min(older.length, newer.length);
  let start = 0;
  while (start < shorter && older[start] === newer[start]) start++;
  let end = 0;
  while (end < shorter - start && older[older.length - 1 - end] === newer[newer.length - 1 - end]) end++;
  return { start, end };
}

/** Returns the newer byte string: the older one, with `inserted` in place of the range that differs. */
export function applyDifference(older: Uint8Array, { start, end }: Difference, inserted: Uint8Array): Uint8Array {
  return Buffer.concat([older.subarray(0, start), inserted, older.subarray(older.length - end)]);
}

/**
 * Returns the indexes of the elements of a JSON list that lie, at least in part, in the range that differs. The list is written
 * without white space between its elements, as `JSON.stringify` writes it.
 */
export function changedElements(json: Uint8Array, { start, end }: Difference): number[] {
  const changed: number[] = [];
  let index = 0;
  let elementStart = 1;
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < json.length; at++) {
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
    if (at > start && elementStart < json.length - end && at > elementStart) changed.push(index);
    elementStart = at + 1;
    index++;
  }
  return changed;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
