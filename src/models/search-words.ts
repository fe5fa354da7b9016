import { stemmer } from "stemmer";
import { forEachWord, type WordKind } from "./words.ts";

/** Matches any word, up to the length from which words count as data. */
const ANY_WORD = /[\p{L}\p{M}\p{N}]{1,40}/gu;

/** SQLite stems words of 3 to 64 bytes in UTF-8 (FTS5_PORTER_MAX_TOKEN in its fts5_tokenize.c). */
const STEMMED_BYTES_MIN = 3;
const STEMMED_BYTES_MAX = 64;

/** Porter's rules change only these words, because all endings in the rules end with a lower-case letter. */
const MAY_END = /[a-z]$/;

const NOT_ASCII = /[^\x00-\x7f]/;
/** The first of Unicode's characters for private use. They are not vowels and have no case. */
const BYTES_FROM = 0xe000;
/** In these scripts, marks are ignored. In other scripts marks are vowels, or make other letters. */
const MARKED = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{Mn}+/gu;
/** Unicode does not decompose these letters into a letter and a mark. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ł: "l",
  ı: "i",
  ς: "σ",
};
const UNDIVIDED = new RegExp(`[${Object.keys(PLAIN_LETTERS).join("")}]`, "g");

/**
 * Returns the words of a text as they are indexed and searched, in order, with repeats: those of `forEachWord`, without accents.
 * If a text has only stop words ("do it again", "ok"), these are returned.
 *
 * For the index's tokenizer, each word is one token: its only ASCII characters are letters, digits and `./\\:@-_$`.
 */
export function searchWords(text: string): string[] {
  const found: string[] = [];
  forEachSearchWord(text, (word) => found.push(word));
  return found.length > 0 ? found : everyWord(text);
}

/** Returns the words of a text in order, with repeats and stop words, and without accents. */
export function everyWord(text: string): string[] {
  return (text.normalize("NFKC").match(ANY_WORD) ?? []).map((word) => withoutAccents(word.toLowerCase()));
}

/** Calls `visit` with each of the `searchWords` of a text and its kind, except stop words. */
export function forEachSearchWord(text: string, visit: (word: string, kind: WordKind) => void): void {
  const isAscii = !NOT_ASCII.test(text);
  forEachWord(text, (word, kind) => {
    // The word is empty for a path whose last name is in a script without spaces.
    if (word !== "") visit(isAscii ? word : withoutAccents(word), kind);
  });
}

/** Returns a form of the text that contains each of its `searchWords` letter by letter. */
export function searchable(text: string): string {
  return NOT_ASCII.test(text) ? withoutAccents(text.normalize("NFKC").toLowerCase()) : text.toLowerCase();
}

/**
 * Returns the stem under which SQLite's `porter` tokenizer indexes one of the `searchWords`. The result differs from SQLite's
 * only for words with `yy` before `ed` or `ing`.
 */
export function searchStem(word: string): string {
  if (!MAY_END.test(word)) return word;
  if (!NOT_ASCII.test(word)) return isStemmed(word.length) ? stemmer(word) : word;
  // SQLite treats each byte of a letter beyond ASCII as a letter.
  const bytes = Buffer.from(word);
  if (!isStemmed(bytes.length)) return word;
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte < 128 ? byte : BYTES_FROM + byte));
  return Buffer.from(Uint8Array.from(stemmer(letters.join("")), (letter) => letter.charCodeAt(0) & 255)).toString();
}

function isStemmed(byteLength: number): boolean {
  return byteLength >= STEMMED_BYTES_MIN && byteLength <= STEMMED_BYTES_MAX;
}

/**
 * Returns the longest beginning that all words with this stem share. It is shorter than the stem, because Porter's rules change
 * a final `y` to `i`, add an `e`, and change `bil` to `bl`. If the `searchable` form of a text does not contain the beginning,
 * the text has no word with this stem.
 */
export function stemBeginning(stem: string): string {
  if (stem.length < 3) return stem.replace(/(?<=.)i$/, "");
  return stem.endsWith("bl") || stem.endsWith("ble") ? stem.replace(/le?$/, "") : stem.replace(/[ei]$/, "");
}

function withoutAccents(word: string): string {
  if (!NOT_ASCII.test(word)) return word;
  const letters = word.normalize("NFD").replace(MARKED, "$1").normalize("NFC");
  return letters.replace(UNDIVIDED, (letter) => PLAIN_LETTERS[letter]!);
}
