import { graphemesIn } from "../core/graphemes.ts";

/** Terminal escapes, and marks that change the direction of the text after them. */
const ESCAPES = /[\u202a-\u202e\u2066-\u2069]|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])/g;
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]/g;
const LONE_SURROGATE = /\p{Surrogate}/gu;
/** White space except single spaces, because most white space is single spaces, and replacing them with themselves is slow. */
const BLANKS = /\s{2,}|[^\S ]/g;
/** A text without these characters is plain. */
const MAYBE_NOT_PLAIN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/;

/** The longest grapheme that is kept whole, in UTF-16 units. A longer one, such as stacked accents, may be cut. */
const GRAPHEME_CHARS_MAX = 32;

/** In UTF-16 units. */
const EXCERPT_CHARS_MAX = 8_000;
/** The beginning of the text gets this share of an excerpt, and its end the rest. */
const HEAD_SHARE = 3 / 4;

/** Returns the beginning and the end of a long text, with `…` at both cuts. */
export function excerpt(
  text: string,
  charsMax = EXCERPT_CHARS_MAX,
  headChars = Math.ceil(charsMax * HEAD_SHARE),
): string {
  if (text.length <= charsMax) return text;
  const head = text.slice(0, headChars).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(text.length - (charsMax - headChars)).replace(/^[\udc00-\udfff]/, "");
  return `${head}…\n…${tail}`;
}

/** Removes terminal escapes, changes of direction and control characters, and replaces unpaired surrogates with U+FFFD. Keeps line breaks and tabs. */
export function plainText(text: string): string {
  if (!MAYBE_NOT_PLAIN.test(text)) return text;
  return text.replace(ESCAPES, "").replace(CONTROL, " ").replace(LONE_SURROGATE, "\uFFFD").replaceAll("\r", "\n");
}

/** Returns `plainText` on one line, with single spaces and none at the ends. */
export function oneLine(text: string): string {
  return plainText(text).replace(BLANKS, " ").trim();
}

/**
 * Cuts a line to at most `charsMax` UTF-16 units, and ends it with `…` if anything was cut. The cut falls between words, so that
 * a path or a name is whole or absent. If that costs more than a third of the room, it falls between graphemes.
 */
export function cutLine(line: string, charsMax: number): string {
  if (line.length <= charsMax) return line;
  const room = charsMax - 1;
  const space = line.lastIndexOf(" ", room);
  const end = space >= (room * 2) / 3 && space > 0 ? space : graphemeStart(line, room);
  return `${line.slice(0, end).trimEnd()}…`;
}

/** Returns the longest cut of a line that fits and has at most `charsMax` units, or "" if even `…` does not fit. */
export function beginningThatFits(line: string, charsMax: number, fits: (text: string) => boolean): string {
  if (line.length <= charsMax && fits(line)) return line;
  let enough = 0;
  let tooMany = Math.min(line.length, charsMax) + 1;
  while (tooMany - enough > 1) {
    const middle = Math.floor((enough + tooMany) / 2);
    if (fits(cutLine(line, middle))) enough = middle;
    else tooMany = middle;
  }
  return enough === 0 ? "" : cutLine(line, enough);
}

function graphemeStart(line: string, index: number): number {
  const from = Math.max(0, index - GRAPHEME_CHARS_MAX);
  const start = from > 0 && isLowSurrogate(line, from) ? from - 1 : from;
  const nearby = line.slice(start, index + GRAPHEME_CHARS_MAX);
  const found = graphemesIn(nearby).containing(index - start)?.index ?? 0;
  if (found > 0) return start + found;
  return isLowSurrogate(line, index) ? index - 1 : index;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
