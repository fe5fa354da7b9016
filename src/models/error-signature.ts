import { oneLine } from "./lines.ts";

/** The longest signature, in UTF-16 units. */
const SIGNATURE_CHARS_MAX = 160;
/** The rest of a line is not read: the time of the patterns grows with its square. */
const READ_CHARS_MAX = 500;
/** A signature with fewer letters would be that of many errors. */
const LETTERS_MIN = 12;

const URL = /\b[a-z][a-z0-9+.-]*:\/\/\S+/gi;
/** Quotes round a word or a path. Agents and shells write them or leave them out. An apostrophe in a word is none. */
const QUOTE = /(?<![\p{L}\p{N}])['"`‘’“”]+|['"`‘’“”]+(?![\p{L}\p{N}])/gu;
/** A path, or the name of a file with an extension, with line and column numbers behind it. */
const PATH =
  /(?:(?:[A-Za-z]:)?[\w@+~.-]*[\\/])+[\w@+~.-]*(?:[:(]\d+(?:[:,]\d+)?\)?)*|\b[\w@+-]+\.[A-Za-z]{1,5}(?:(?:[:(]\d+(?:[:,]\d+)?\)?)+|(?=:))/g;
const HEX = /\b(?:0x[0-9a-f]+|(?=[a-f]*\d)[0-9a-f]{6,}(?:-[0-9a-f]{4,})*)\b/gi;
/** Not a number in a name, such as `TS2304`. */
const NUMBER = /(?<![\p{L}_\d])\d+(?:[.,:]\d+)*/gu;
/** What stands before an error in logs. */
const BEGINNING = /^(?:[\s:|>*[\]()=-]|<n>|<path>|(?:ERROR|error|FAIL|RUN|E)(?=[\s:])|[✗✘✖×])+/;
/** One word, such as the name of a test, says what failed and not why. */
const WORDS_MIN = 2;
const WORD = /[\p{L}_][\p{L}\p{N}_]+/gu;
/** Errors that say only that there is one. */
const SAYS_NOTHING = /^(?:command|process|script|build|tests?|it) (?:failed|exited|completed)\b[^:]*$/i;

/**
 * Returns what is the same each time an error occurs: its line without quotes, paths, addresses, numbers and what logs put before it. Returns
 * undefined if too little is left to tell it from other errors.
 */
export function errorSignature(line: string): string | undefined {
  const same = oneLine(line.slice(0, READ_CHARS_MAX))
    .replace(/<\/?tool_use_error>/g, "")
    .replace(QUOTE, "")
    .replace(URL, "<url>")
    .replace(PATH, "<path>")
    .replace(HEX, "<n>")
    .replace(NUMBER, "<n>")
    .replace(BEGINNING, "")
    .trim();
  const said = same.replace(/<(?:n|path|url)>/g, " ");
  const letters = said.replace(/[^\p{L}]/gu, "");
  if (letters.length < LETTERS_MIN || SAYS_NOTHING.test(same)) return undefined;
  if ((said.match(WORD) ?? []).length < WORDS_MIN) return undefined;
  return same
    .slice(0, SIGNATURE_CHARS_MAX)
    .replace(/[\ud800-\udbff]$/, "")
    .trimEnd();
}
