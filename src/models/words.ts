import { isStopWord } from "./stop-words.ts";

/**
 * - `word`: a word of prose;
 * - `whole`: an identifier, a path or a compound as a whole (`parsefile`, `src/a.ts`, `union-find`), or a path's base name;
 * - `piece`: a part of such a whole: `parse`, `file`;
 * - `gram`: two neighboring characters of a script without spaces, or a single one that has no neighbor.
 */
export type WordKind = "word" | "whole" | "piece" | "gram";

/** Receives a word as a range of `source`. ASCII letters may have either case; other letters are in lower case. */
type RangeVisitor = (source: string, start: number, end: number, kind: WordKind) => void;

/** Longer runs are data: base64, a hash, a minified line. */
const WORD_CHARS_MAX = 40;
const WHOLE_CHARS_MAX = 120;

// The classes of a character, as bits. A character that cannot be part of a word has none.
const LOWER = 1;
const UPPER = 2;
/** Digits and marks stay with the letter before them. */
const DIGIT = 4;
const CASELESS = 8;
const LETTER_OR_DIGIT = LOWER | UPPER | DIGIT | CASELESS;
const GLUE = 16;
const IN_RUN = LETTER_OR_DIGIT | GLUE;
const JOINT = 32;
const UNSPACED = 64;
const NOT_ASCII = 128;
const SECOND_HALF_OF_PAIR = 256;

type Classes = readonly [pattern: RegExp, bits: number][];
/** Most texts need only these patterns. V8 takes a millisecond to compile the patterns of Unicode's classes. */
const ASCII_PATTERNS: Classes = [
  [/[a-z]/, LOWER],
  [/[A-Z]/, UPPER],
  [/\d/, DIGIT],
  [/[_$]/, GLUE],
  [/[./\\:@-]/, JOINT],
];
const OTHER_PATTERNS: Classes = [
  [/\p{Ll}/u, LOWER],
  [/\p{Lu}/u, UPPER],
  [/[\p{M}\p{N}]/u, DIGIT],
  [/\p{L}/u, CASELESS],
];
const UNSPACED_RUN =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+/gu;
const IS_UNSPACED = new RegExp(UNSPACED_RUN.source, "u");
const HAS_OTHERS = /[^\x00-\x7f]/;

const ASCII_CLASSES = Uint8Array.from({ length: 128 }, (_, code) => computeClasses(String.fromCharCode(code)));
/** The keys are code points. */
const otherClasses = new Map<number, number>();

/**
 * Returns the words of a text in order, with repeats: in lower case and Unicode's NFKC form, without stop words and single
 * letters. An identifier, path or compound gives the whole and then its pieces: `src/fooBar.ts` gives `src/foobar.ts`,
 * `foobar.ts`, `src`, `foo`, `bar`, `ts`. Han, kana, Hangul and Thai give bigrams.
 */
export function words(text: string): string[] {
  const found: string[] = [];
  forEachWord(text, (word) => found.push(word));
  return found;
}

/** Calls `visit` with each of the `words` of a text and its kind, without building a list. */
export function forEachWord(text: string, visit: (word: string, kind: WordKind) => void): void {
  if (HAS_OTHERS.test(text)) {
    forEachWordRange(text, (source, start, end, kind) => visit(source.slice(start, end).toLowerCase(), kind));
    return;
  }
  // Letters beyond ASCII may have more or fewer characters in lower case.
  const lower = text.toLowerCase();
  forEachWordRange(text, (_, start, end, kind) => visit(lower.slice(start, end), kind));
}

/** Like `forEachWord`, but builds no strings for ASCII words. Regular expressions would take three times as long. */
export function forEachWordRange(given: string, visit: RangeVisitor): void {
  const text = HAS_OTHERS.test(given) ? given.normalize("NFKC") : given;
  const classes = spare?.text === text ? spare.classes : classesOf(text, spare?.classes);
  spare = undefined; // `visit` may read another text
  for (let start = 0; start < text.length; ) {
    let seen = classes[start]!;
    let end = start + 1;
    if ((seen & IN_RUN) !== 0) {
      for (; end < text.length; end++) {
        const found = classes[end]!;
        if ((found & IN_RUN) === 0 && !(found === JOINT && (classes[end + 1]! & IN_RUN) !== 0)) break;
        seen |= found;
      }
      if (seen === LOWER) visitTelling(text, start, end, "word", visit);
      else if ((seen & UNSPACED) !== 0) visitUnspaced(text, classes, start, end, visit);
      else visitCompound(text, classes, start, end, (seen & NOT_ASCII) === 0, visit);
    }
    start = end;
  }
  spare = { text, classes };
}

/** @param isAscii  True if the range is ASCII, which visitors accept in either case. */
function visitCompound(
  text: string,
  classes: Uint16Array,
  start: number,
  end: number,
  isAscii: boolean,
  visit: RangeVisitor,
): void {
  const pieces = piecesOf(classes, start, end);
  if (pieces.length > 2 && end - start <= WHOLE_CHARS_MAX) {
    const visitWhole = isAscii ? visit : inLowerCase(visit);
    visitWhole(text, start, end, "whole");
    const base = baseOf(text, start, end);
    if (base > start && !holdsRange(pieces, text, base, end)) visitWhole(text, base, end, "whole");
  }
  const kind = pieces.length === 2 ? "word" : "piece";
  for (let index = 0; index < pieces.length; index += 2) {
    const from = pieces[index]!;
    const to = pieces[index + 1]!;
    if (isAscii) visitTelling(text, from, to, kind, visit);
    else inLowerCase((word, _, length) => visitTelling(word, 0, length, kind, visit))(text, from, to, kind);
  }
}

function visitUnspaced(text: string, classes: Uint16Array, start: number, end: number, visit: RangeVisitor): void {
  let last = start;
  for (const { 0: run, index } of text.slice(start, end).matchAll(UNSPACED_RUN)) {
    if (start + index > last) visitCompound(text, classes, last, start + index, false, visit);
    last = start + index + run.length;
    const characters = [...run];
    if (characters.length === 1) visit(run, 0, run.length, "gram");
    for (let i = 1; i < characters.length; i++) {
      const gram = characters[i - 1]! + characters[i]!;
      visit(gram, 0, gram.length, "gram");
    }
  }
  if (last < end) visitCompound(text, classes, last, end, false, visit);
}

function inLowerCase(visit: RangeVisitor): RangeVisitor {
  return (source, start, end, kind) => {
    const word = source.slice(start, end).toLowerCase();
    visit(word, 0, word.length, kind);
  };
}

/** Returns the start and end of each hump of a token: start, end, start, … Segments that are too long for words are left out. */
function piecesOf(classes: Uint16Array, start: number, end: number): number[] {
  const pieces: number[] = [];
  for (let from = start, to = start; from < end; from = to + 1) {
    to = runEnd(classes, from, end, LETTER_OR_DIGIT);
    if (to - from > WORD_CHARS_MAX) continue;
    for (let hump = from, next = from; hump < to; hump = next) {
      next = humpEnd(classes, hump, to);
      pieces.push(hump, next);
    }
  }
  return pieces;
}

/** Returns the end of a hump such as `Bar`, `HTTP` before `Server`, or `V2`. */
function humpEnd(classes: Uint16Array, start: number, end: number): number {
  const capitalsEnd = runEnd(classes, start, end, UPPER);
  const isBeforeLower = capitalsEnd < end && (classes[capitalsEnd]! & LOWER) !== 0;
  if (isBeforeLower) {
    const lastCapital = capitalsEnd - ((classes[capitalsEnd - 1]! & SECOND_HALF_OF_PAIR) === 0 ? 1 : 2);
    if (lastCapital > start) return lastCapital;
  }
  if (isBeforeLower || capitalsEnd === start) return runEnd(classes, capitalsEnd, end, LOWER | DIGIT | CASELESS);
  return runEnd(classes, capitalsEnd, end, DIGIT);
}

function runEnd(classes: Uint16Array, start: number, end: number, wanted: number): number {
  let index = start;
  while (index < end && (classes[index]! & wanted) !== 0) index++;
  return index;
}

/** Returns the start of the last name of a path, or `start` if the token is not a path. */
function baseOf(text: string, start: number, end: number): number {
  let base = end;
  while (base > start && text[base - 1] !== "/" && text[base - 1] !== "\\") base--;
  return base;
}

function holdsRange(pieces: readonly number[], text: string, start: number, end: number): boolean {
  const word = text.slice(start, end).toLowerCase();
  for (let index = 0; index < pieces.length; index += 2) {
    const from = pieces[index]!;
    const to = pieces[index + 1]!;
    if (to - from === end - start && text.slice(from, to).toLowerCase() === word) return true;
  }
  return false;
}

function visitTelling(text: string, start: number, end: number, kind: WordKind, visit: RangeVisitor): void {
  const length = end - start;
  if (length > 1 && length <= WORD_CHARS_MAX && !isStopWord(text, start, end)) visit(text, start, end, kind);
}

/**
 * The classes of the last text: it is often read again, for its embedding and its words. Else the array is filled anew, because to
 * allocate one takes longer.
 */
let spare: { text: string; classes: Uint16Array } | undefined;
const CLASSES_MIN = 16_384;

/** Returns the classes of each UTF-16 unit, and of none after the last. @param spare  An array to use, if it is long enough. */
function classesOf(text: string, spare: Uint16Array | undefined): Uint16Array {
  const isLong = spare !== undefined && spare.length > text.length;
  const classes = isLong ? spare : new Uint16Array(Math.max(CLASSES_MIN, text.length + 1));
  classes[text.length] = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 128) {
      classes[index] = ASCII_CLASSES[code]!;
      continue;
    }
    const codePoint = text.codePointAt(index)!;
    let found = otherClasses.get(codePoint);
    if (found === undefined) {
      found = computeClasses(String.fromCodePoint(codePoint));
      otherClasses.set(codePoint, found);
    }
    classes[index] = found;
    if (codePoint > 0xffff) classes[++index] = found | SECOND_HALF_OF_PAIR;
  }
  return classes;
}

function computeClasses(character: string): number {
  const isAscii = !HAS_OTHERS.test(character);
  const classes = isAscii ? ASCII_PATTERNS : OTHER_PATTERNS;
  const bits = classes.find(([pattern]) => pattern.test(character))?.[1] ?? 0;
  if (bits === 0 || isAscii) return bits;
  return bits | NOT_ASCII | (IS_UNSPACED.test(character) ? UNSPACED : 0);
}
