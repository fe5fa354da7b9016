import { cutAtGrapheme } from "../core/text.ts";

/** UTF-16 units looked at on either side of a cut. The longest emoji sequences in use have about 30. */
const CUT_CONTEXT_CHARS = 64;

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * The head and the tail of what somebody said, two to one, with a marker between them that says how much is left out and
 * where to get it. For what a tool said, see `distill`.
 *
 * @param charsMax  Most UTF-16 units that come back, marker included. Where the marker does not fit, the head comes back, with a `…`.
 * @param source  Names the whole text: `message 12`.
 */
export function shorten(text: string, charsMax: number, source: string): string {
  return cutMiddle(text, charsMax, (count) => `\n[… ${count} characters left out, expand ${source} …]\n`);
}

/**
 * The head and the tail of a text, two to one, with a marker between them.
 *
 * No grapheme is cut in two. Only the surroundings of the two cuts are segmented, so 10 MB cost what 1 KB costs.
 *
 * @param charsMax  As for `shorten`.
 * @param markerOf  The marker for so many UTF-16 units; not longer for fewer.
 */
export function cutMiddle(text: string, charsMax: number, markerOf: (charCount: number) => string): string {
  if (text.length <= charsMax) return text;
  const room = charsMax - markerOf(text.length).length;
  if (room < 0) return charsMax <= 0 ? "" : `${cutAtGrapheme(text, charsMax - 1)}…`;
  const head = cutAtGrapheme(text, Math.floor((room * 2) / 3));
  const tail = text.slice(boundaryAfter(text, text.length - Math.floor(room / 3)));
  return head + markerOf(text.length - head.length - tail.length) + tail;
}

/** The first grapheme boundary at or after `index`. */
function boundaryAfter(text: string, index: number): number {
  const from = Math.max(0, index - CUT_CONTEXT_CHARS);
  const to = index + CUT_CONTEXT_CHARS;
  for (const segment of graphemes.segment(text.slice(from, to))) {
    const end = from + segment.index + segment.segment.length;
    if (end >= index && (end < to || end === text.length)) return end;
  }
  // One grapheme larger than all that was looked at: cut it, but not within a surrogate pair.
  return /[\udc00-\udfff]/.test(text[index] ?? "") ? index + 1 : index;
}
