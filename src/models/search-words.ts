import { stemmer } from "stemmer";
import { forEachWord, type WordKind } from "./words.ts";

/** At most as long as any word that tells; longer runs are cut. */
const ANY_WORD = /[\p{L}\p{M}\p{N}]{1,40}/gu;

/** SQLite stems words of 3 to 64 bytes of UTF-8 (FTS5_PORTER_MAX_TOKEN in its fts5_tokenize.c). */
const STEMMED_BYTES_MIN = 3;
const STEMMED_BYTES_MAX = 64;

/** Every ending that Porter's rules know ends so. */
const MAY_END = /[a-z]$/;

const NOT_ASCII = /[^\x00-\x7f]/;
/** Of Unicode's characters for private use, which are no vowels and have no case. */
const BYTES_FROM = 0xe000;
/** Scripts in which a letter with a mark is looked for without it. Elsewhere marks are vowels, or make other letters. */
const MARKED = /([\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}])\p{Mn}+/gu;
/** Letters of these scripts that Unicode does not take apart. */
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
 * The words of a text as they are indexed and searched, in order, with repeats: those of `forEachWord`, without accents.
 * In a text in which no word tells ("do it again", "ok") every word counts; without any letter or digit there are none.
 *
 * Each is one token of the index's tokenizer: it has no ASCII character but letters, digits and `./\\:@-_$`.
 */
export function searchWords(text: string): string[] {
  const found: string[] = [];
  forEachSearchWord(text, (word) => found.push(word));
  if (found.length > 0) return found;
  return (text.normalize("NFKC").match(ANY_WORD) ?? []).map((word) => withoutAccents(word.toLowerCase()));
}

/** Call `visit` with each word of a text that tells, as it is indexed, and its kind. */
export function forEachSearchWord(text: string, visit: (word: string, kind: WordKind) => void): void {
  forEachWord(text, (word, kind) => {
    // Of a path that goes on in a script without spaces, what stands behind the last slash is nothing.
    if (word !== "") visit(withoutAccents(word), kind);
  });
}

/** A text in which every one of its `searchWords` stands as it is, between other characters. */
export function searchable(text: string): string {
  return NOT_ASCII.test(text) ? withoutAccents(text.normalize("NFKC").toLowerCase()) : text.toLowerCase();
}

/**
 * The stem under which SQLite's `porter` tokenizer keeps one of the `searchWords`: of words with the same stem, any finds
 * all. The same but for words with `yy` before `ed` or `ing`, which no language has.
 */
export function searchStem(word: string): string {
  if (!MAY_END.test(word)) return word;
  if (!NOT_ASCII.test(word)) return isStemmed(word.length) ? stemmer(word) : word;
  // To SQLite a letter past ASCII is several, one for each byte.
  const bytes = Buffer.from(word);
  if (!isStemmed(bytes.length)) return word;
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte < 128 ? byte : BYTES_FROM + byte));
  return Buffer.from(Uint8Array.from(stemmer(letters.join("")), (letter) => letter.charCodeAt(0) & 255)).toString();
}

function isStemmed(byteLength: number): boolean {
  return byteLength >= STEMMED_BYTES_MIN && byteLength <= STEMMED_BYTES_MAX;
}

/**
 * How every word with this stem begins: most of the stem, for Porter's rules make `i` of a last `y`, add an `e`, and make
 * `bl` of `bil`. What does not hold it in its `searchable` form need not be taken apart.
 */
export function stemBeginning(stem: string): string {
  if (stem.length < 3) return stem.replace(/i$/, "");
  return stem.endsWith("bl") || stem.endsWith("ble") ? stem.replace(/le?$/, "") : stem.replace(/[ei]$/, "");
}

function withoutAccents(word: string): string {
  if (!NOT_ASCII.test(word)) return word;
  const letters = word.normalize("NFD").replace(MARKED, "$1").normalize("NFC");
  return letters.replace(UNDIVIDED, (letter) => PLAIN_LETTERS[letter]!);
}
