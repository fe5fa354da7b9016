import { TRIPLE_STEPS } from "./letter-triples.ts";

/** Costs are in 64ths of a token. */
export const TOKEN = 64;

/** A letter has the low five bits of its code, and 0 is the edge of a word or any letter that is not in `a` to `z`. */
export const LETTER_BITS = 5;
const LETTERS = 27;

/** Fitted to o200k on prose in 60 languages, code, logs and random identifiers, so that most words cost rather too much. */
const STEPS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const STEP = 0.03 * TOKEN;
const LEAST = -0.6 * TOKEN;
const COST_OF_STEP = Int8Array.from(
  { length: 128 },
  (_, code) => STEPS.indexOf(String.fromCharCode(code)) * STEP + LEAST,
);
/** Words seldom repeat a letter twice. The long tokens for runs of a letter have two to eight of it. */
const REPEATED = 0.5 * TOKEN;

/** The cost that a letter adds to its word, by the two letters before it and itself: see `fillCosts`. */
export const TRIPLES = new Int8Array(1 << (3 * LETTER_BITS));

/**
 * The tokens of a character by the first character of its range. Each letter adds them to its word. Symbols have negative
 * numbers, and do not join words. A tokenizer knows the words of some scripts, and spells others byte by byte.
 */
const RANGES: readonly [first: number, tokens: number][] = [
  [0x80, -1], // Latin-1: symbols, then letters
  [0xc0, 0.82],
  [0x100, 0.7], // Latin Extended-A and -B, phonetic letters, combining marks
  [0x180, 1.2],
  [0x1a0, 0.4], // Vietnamese
  [0x1c0, 1.1],
  [0x250, 1.6],
  [0x300, 2],
  [0x380, 0.37], // Greek
  [0x400, 0.225], // Cyrillic: Russian letters, those of its neighbors, and the rest
  [0x450, 1.4],
  [0x480, 1.1],
  [0x530, 0.25], // Armenian
  [0x590, 0.4], // Hebrew
  [0x600, 0.33], // Arabic: its own letters, then those of Persian and Urdu
  [0x670, 0.45],
  [0x700, 2.1], // Syriac, Thaana, N'Ko
  [0x900, 0.32], // Devanagari
  [0x980, 0.37], // Bengali
  [0xa00, 0.57], // Gurmukhi
  [0xa80, 0.36], // Gujarati
  [0xb00, 0.6], // Oriya
  [0xb80, 0.36], // Tamil
  [0xc00, 0.5], // Telugu
  [0xc80, 0.42], // Kannada
  [0xd00, 0.36], // Malayalam
  [0xd80, 0.6], // Sinhala
  [0xe00, 0.4], // Thai
  [0xe80, 1.9], // Lao
  [0xf00, 1.7], // Tibetan
  [0x1000, 0.7], // Burmese
  [0x10a0, 0.27], // Georgian
  [0x1100, 3], // Hangul in pieces
  [0x1200, 2.2], // Ethiopic
  [0x1380, 3], // Cherokee, Canadian syllabics, runes
  [0x1780, 0.63], // Khmer
  [0x1800, 3], // Mongolian and others
  [0x1d00, 2.5], // phonetic letters
  [0x1e00, 2], // Latin Extended Additional, of which the last are Vietnamese
  [0x1ea0, 0.25],
  [0x1f00, 2.2], // ancient Greek
  [0x2000, -1], // punctuation
  [0x2080, -1.8], // currencies, letterlike symbols, numbers
  [0x2190, -1.5], // arrows, mathematics
  [0x2500, -1.3], // boxes
  [0x25a0, -1.9], // shapes, older emoji
  [0x27c0, -3], // more mathematics, Braille
  [0x2c00, 3],
  [0x3000, -1], // Chinese and Japanese punctuation
  [0x3040, 0.71], // Kana
  [0x3100, 2],
  [0x3400, 3], // rare Han
  [0x4e00, 0.8], // Han. Characters with the traditional forms of some radicals cost more.
  [0x7d00, 1.1],
  [0x7e90, 0.72],
  [0x8a00, 1.2],
  [0x8ba0, 0.72],
  [0x8c90, 1.1],
  [0x8d10, 0.8],
  [0x9280, 1.8],
  [0x9480, 0.8],
  [0x9900, 1.4],
  [0x9a60, 0.8],
  [0xa000, 3], // Yi and others
  [0xac00, 0.67], // Hangul
  [0xd7b0, 3],
  [0xd800, -1], // surrogates, which `astralCost` counts in pairs
  [0xe000, -3], // private use
  [0xf900, 3],
  [0xfb50, 2.3], // forms of Arabic letters
  [0xfe00, -1.3], // emoji styles, vertical forms
  [0xfe70, 2.2],
  [0xff00, -1.1], // full width
  [0xff20, 1.8],
];

/** The cost of a character that is not ASCII, by its code divided by 16: see `fillCosts`. */
export const FOREIGN = new Int16Array(0x1000);

/**
 * Fills the tables. Nothing does so before a text is counted, because it takes milliseconds.
 *
 * @param each  Is called for each range of characters that are not ASCII. A letter costs more than 0.
 */
export function fillCosts(each: (cost: number, first: number, end: number) => void): void {
  for (const [first, line] of TRIPLE_STEPS.entries()) {
    for (let place = 0, second = 0; place < line.length; second++) {
      const letters = ((first << LETTER_BITS) + second) << LETTER_BITS;
      for (let third = 0; third < LETTERS; third++) TRIPLES[letters + third] = COST_OF_STEP[line.charCodeAt(place++)]!;
    }
    const repeat = (((first << LETTER_BITS) + first) << LETTER_BITS) + first;
    if (first > 0) TRIPLES[repeat] = Math.max(TRIPLES[repeat]!, REPEATED);
  }
  for (const [index, [first, tokens]] of RANGES.entries()) {
    const end = RANGES[index + 1]?.[0] ?? 0x10000;
    const cost = Math.round(tokens * TOKEN);
    FOREIGN.fill(cost, first >> 4, end >> 4);
    each(cost, first, end);
  }
}

export function astralCost(high: number): number {
  if (high >= 0xd83c && high <= 0xd83e) return 2 * TOKEN; // emoji
  return high === 0xd835 ? 3 * TOKEN : 4 * TOKEN; // letters of mathematics, or any others
}
