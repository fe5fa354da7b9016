import { forEachAsciiWord } from "./ascii-words.ts";
import { isStopWord } from "./stop-words.ts";
import { type RangeVisitor, WHOLE_CHARS_MAX, WORD_CHARS_MAX, type WordKind } from "./word.ts";

export type { WordKind } from "./word.ts";

// One alternative per token, all linear: separators and word characters are disjoint, so nothing can match two ways.
const TOKEN = /[\p{L}\p{M}\p{N}_$]+(?:[./\\:@-][\p{L}\p{M}\p{N}_$]+)*/gu;
const SEGMENT = /[\p{L}\p{M}\p{N}]+/gu;
/** Humps of `fooBar`, `HTTPServer`, `v2Index`; digits stay with the letters before them. */
const HUMP = /\p{Lu}+(?!\p{Ll})[\p{M}\p{N}]*|\p{Lu}?[^\p{Lu}]+/gu;
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}ー]+/gu;
const HAS_UNSPACED = new RegExp(UNSPACED.source, "u");
const NOT_ASCII = /[^\x00-\x7f]/;

/**
 * The words of a text that carry meaning, in order, with repeats: lower-cased, in Unicode's NFKC form, without stop
 * words and single Latin letters. An identifier, path or compound gives the whole and then its pieces: `src/fooBar.ts`
 * gives `src/foobar.ts`, `foobar.ts`, `src`, `foo`, `bar`, `ts`. Han, kana, Hangul and Thai give bigrams.
 *
 * Linear in the text's length.
 */
export function words(text: string): string[] {
  const found: string[] = [];
  forEachWord(text, (word) => found.push(word));
  return found;
}

/** Call `visit` with each of the `words` of a text and its kind, without building a list. */
export function forEachWord(text: string, visit: (word: string, kind: WordKind) => void): void {
  forEachWordRange(text, (source, start, end, kind) => visit(source.slice(start, end).toLowerCase(), kind));
}

/** The same, without building a string for each either, where that can be avoided. */
export function forEachWordRange(text: string, visit: RangeVisitor): void {
  if (!NOT_ASCII.test(text)) {
    forEachAsciiWord(text, visit);
    return;
  }
  const visitWord = (word: string, kind: WordKind): void => visit(word, 0, word.length, kind);
  // `match` and not `matchAll`: one list of strings instead of an object for each.
  for (const token of text.normalize("NFKC").match(TOKEN) ?? []) {
    if (!NOT_ASCII.test(token)) forEachAsciiWord(token, visit);
    else if (HAS_UNSPACED.test(token)) visitUnspaced(token, visitWord);
    else visitCompound(token, visitWord);
  }
}

function visitCompound(token: string, visit: (word: string, kind: WordKind) => void): void {
  const pieces: string[] = [];
  for (const segment of token.match(SEGMENT) ?? []) {
    if (segment.length > WORD_CHARS_MAX) continue;
    for (const hump of segment.match(HUMP) ?? []) pieces.push(hump.toLowerCase());
  }
  if (pieces.length === 1) {
    if (isTelling(pieces[0]!)) visit(pieces[0]!, "word");
    return;
  }
  if (pieces.length > 0 && token.length <= WHOLE_CHARS_MAX) {
    const whole = token.toLowerCase();
    visit(whole, "whole");
    const base = whole.slice(Math.max(whole.lastIndexOf("/"), whole.lastIndexOf("\\")) + 1);
    if (base !== whole && !pieces.includes(base)) visit(base, "whole");
  }
  for (const piece of pieces) if (isTelling(piece)) visit(piece, "piece");
}

function visitUnspaced(token: string, visit: (word: string, kind: WordKind) => void): void {
  let end = 0;
  for (const { 0: run, index } of token.matchAll(UNSPACED)) {
    if (index > end) visitCompound(token.slice(end, index), visit);
    end = index + run.length;
    const characters = [...run];
    if (characters.length === 1) visit(run, "gram");
    for (let i = 1; i < characters.length; i++) visit(characters[i - 1]! + characters[i]!, "gram");
  }
  if (end < token.length) visitCompound(token.slice(end), visit);
}

function isTelling(word: string): boolean {
  return word.length > 1 && word.length <= WORD_CHARS_MAX && !isStopWord(word);
}
