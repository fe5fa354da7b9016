import { lowerCodeAt } from "./word-table.ts";

const D = 100;
const E = 101;
const G = 103;
const I = 105;
const N = 110;
const S = 115;
const U = 117;

/**
 * Removes the most frequent English endings: plurals, `-ed`, `-ing`, a final `e` and a doubled last letter. So `retries`,
 * `retrying` and `retry` get one stem, and `stopped` and `stops` another. Stems are compared, but not shown.
 *
 * It extends the S-stemmer of Harman, "How effective is suffixing?", JASIS 42(1), 1991. In tests it came within a point of
 * Porter's.
 */
export function stem(word: string): string {
  if (isPluralOfY(word, 0, word.length)) return stem(`${word.slice(0, -3)}y`);
  return word.slice(0, stemEnd(word, 0, word.length));
}

/** Returns true if `stem` first replaces `ies` with `y`. */
export function isPluralOfY(text: string, start: number, end: number): boolean {
  return (
    end - start >= 4 &&
    lowerCodeAt(text, end - 1) === S &&
    lowerCodeAt(text, end - 2) === E &&
    lowerCodeAt(text, end - 3) === I
  );
}

/** Returns the end of the stem of the word in `[start, end)`. The word must not be a plural in `ies`. */
export function stemEnd(text: string, start: number, end: number): number {
  let to = end;
  if (to - start < 4) return to;
  let last = lowerCodeAt(text, to - 1);
  let before = lowerCodeAt(text, to - 2);
  if (last === S && before !== S && before !== U) {
    to -= 1;
    last = before;
    before = lowerCodeAt(text, to - 2);
  }
  if (last === G && to - start > 5 && before === N && lowerCodeAt(text, to - 3) === I) to -= 3;
  else if (last === D && to - start > 4 && before === E) to -= 2;
  if (to - start > 3 && lowerCodeAt(text, to - 1) === E) to -= 1;
  if (to - start > 3 && lowerCodeAt(text, to - 1) === lowerCodeAt(text, to - 2)) to -= 1;
  return to;
}
