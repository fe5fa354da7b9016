/**
 * - `word`: a word of prose;
 * - `whole`: an identifier, a path or a compound as one: `parsefile`, `src/a.ts`, `union-find`; and a path's base name;
 * - `piece`: a part of such a whole: `parse`, `file`;
 * - `gram`: two neighboring characters of a script that writes no spaces, or its only one.
 */
export type WordKind = "word" | "whole" | "piece" | "gram";

/**
 * Called with a word as the range of `source` it stands in, from `start` to before `end`, in UTF-16 units: ASCII letters in
 * either case, others in lower case. No string is made of it: who only counts words needs none, and making it would cost
 * more than finding it.
 */
export type RangeVisitor = (source: string, start: number, end: number, kind: WordKind) => void;

/** Characters past which a run is data (base64, a hash, a minified line), not a word. */
export const WORD_CHARS_MAX = 40;
/** The same for an identifier, a path or a compound as one. */
export const WHOLE_CHARS_MAX = 120;

/**
 * The UTF-16 unit at `index`, an ASCII letter in lower case. `toLowerCase` over a whole text took several times as long as
 * finding its words.
 */
export function lowerCodeAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code >= 65 && code <= 90 ? code + 32 : code;
}
