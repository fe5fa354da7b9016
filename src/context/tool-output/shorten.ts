import { graphemesIn } from "../../core/graphemes.ts";
import { cutAtGrapheme } from "../../core/text.ts";

/** UTF-16 units on each side of a cut that are split into graphemes. The longest emoji in use have about 30. */
const CUT_CONTEXT_CHARS = 64;

/**
 * Cuts the middle of a text. A marker says how much is left out and where to get it. For output of tools, use `distill`.
 *
 * @param charsMax  Most UTF-16 units of the result. If the marker does not fit, the result is the head and a `…`.
 * @param source  Names the whole text: `message 12`.
 */
export function shorten(text: string, charsMax: number, source: string): string {
  return cutMiddle(text, charsMax, (count) => `\n[… ${count} characters left out, expand ${source} …]\n`);
}

/**
 * Returns the head and the tail of a text, two to one, with a marker between them. No grapheme is cut in two.
 *
 * @param markerOf  Returns the marker for a number of UTF-16 units. A marker for fewer units must not be longer.
 */
export function cutMiddle(text: string, charsMax: number, markerOf: (charCount: number) => string): string {
  if (text.length <= charsMax) return text;
  const room = charsMax - markerOf(text.length).length;
  if (room < 0) return charsMax <= 0 ? "" : `${cutAtGrapheme(text, charsMax - 1)}…`;
  const head = cutAtGrapheme(text, Math.floor((room * 2) / 3));
  const tail = text.slice(boundaryAfter(text, text.length - Math.floor(room / 3)));
  return head + markerOf(text.length - head.length - tail.length) + tail;
}

function boundaryAfter(text: string, index: number): number {
  const from = Math.max(0, index - CUT_CONTEXT_CHARS);
  const to = index + CUT_CONTEXT_CHARS;
  for (const segment of graphemesIn(text.slice(from, to))) {
    const end = from + segment.index + segment.segment.length;
    if (end >= index && (end < to || end === text.length)) return end;
  }
  // One grapheme is larger than the text that was split: cut it, but not within a surrogate pair.
  return /[\udc00-\udfff]/.test(text[index] ?? "") ? index + 1 : index;
}

/**
 * Divides `room`: small needs are met, and large ones share the remaining room equally.
 *
 * @returns whole numbers, each at most its need, together at most `room`.
 */
export function sharesOf(needs: readonly number[], room: number): number[] {
  const shares = needs.map(() => 0);
  const ascending = needs.map((_, index) => index).sort((left, right) => needs[left]! - needs[right]!);
  let left = Math.max(0, room);
  ascending.forEach((index, rank) => {
    shares[index] = Math.min(needs[index]!, Math.floor(left / (needs.length - rank)));
    left -= shares[index];
  });
  return shares;
}
