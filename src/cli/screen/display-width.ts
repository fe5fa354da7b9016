import { graphemesIn } from "../../core/graphemes.ts";

const PLAIN = /^[\x20-\x7e]*$/;

/** Wide and fullwidth characters (Unicode Annex 11), and emoji. */
const WIDE =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}\p{Script=Yi}\p{Script=Tangut}\u3000-\u303e\u3200-\u33ff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/u;
const HALFWIDTH_KANA = /^[\uff61-\uffdc]/;
const INVISIBLE = /^[\p{Mark}\p{Control}\p{Format}\p{Surrogate}]+$/u;

/** Returns the number of columns that a text takes in a terminal. For some emoji this depends on the font. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesIn(text)) width += graphemeWidth(segment);
  return width;
}

function graphemeWidth(grapheme: string): number {
  if (INVISIBLE.test(grapheme)) return 0;
  return WIDE.test(grapheme) && !HALFWIDTH_KANA.test(grapheme) ? 2 : 1;
}

/** The longest ordinary grapheme, in UTF-16 units. */
const GRAPHEME_CHARS_MAX = 16;

/** The first folders of a long path: its last folder and the file are what tells it from others. */
const FIRST_FOLDERS = /(?<![\w./~:…-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\]+[/\\]){2,}(?=[^\s/\\]+[/\\][^\s/\\])/g;

/**
 * Cuts the text to `width` columns (at least 1; infinite for all of it), and puts `…` where it cut. Before it cuts the end, it shortens long paths by their
 * first folders.
 */
export function cutToWidth(text: string, width: number, cut: "end" | "start" = "end"): string {
  if (width === Number.POSITIVE_INFINITY) return text;
  const charsMax = width * GRAPHEME_CHARS_MAX;
  if (text.length <= charsMax && displayWidth(text) <= width) return text;
  // A cell may hold a whole message, and segmenting all of it would be slow.
  const near = cut === "end" ? text.slice(0, charsMax).replace(FIRST_FOLDERS, "…/") : text.slice(-charsMax);
  if (text.length <= charsMax && displayWidth(near) <= width) return near;
  const pieces = Array.from(graphemesIn(near), ({ segment }) => segment);
  if (cut === "start") pieces.reverse();
  let used = 0;
  const end = pieces.findIndex((piece) => {
    used += graphemeWidth(piece);
    return used > width - 1;
  });
  const kept = end === -1 ? pieces : pieces.slice(0, end);
  return cut === "end" ? `${kept.join("")}…` : `…${kept.reverse().join("")}`;
}

export function padToWidth(text: string, width: number, align: "left" | "right"): string {
  const blanks = " ".repeat(Math.max(0, width - displayWidth(text)));
  return align === "left" ? text + blanks : blanks + text;
}
