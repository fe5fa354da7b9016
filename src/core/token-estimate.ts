import { estimateTokenCount } from "tokenx";

// The classes of characters in tokenx 2, as bits. It splits a text into runs of white space, of punctuation, and of all others.
const SPACE = 1;
const PUNCTUATION = 2;
const DIGIT = 4;
const LOWER = 8;
const OTHER = 16;
/** Any character that is not ASCII. */
const FOREIGN = 32;
const IN_WORD = DIGIT | LOWER | OTHER | FOREIGN;

const CLASS_OF_ASCII = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  if (/\s/.test(character)) return SPACE;
  if (/[.,!?;(){}[\]<>:/\\|@#$%^&*+=`~_"-]/.test(character)) return PUNCTUATION;
  if (/[0-9]/.test(character)) return DIGIT;
  return /[a-z]/.test(character) ? LOWER : OTHER;
});

/** Characters beyond ASCII that end a run: white space, and the blocks with Chinese and Japanese punctuation. */
const FOREIGN_BREAK = /[^\S\x00-\x7f]|[\u3000-\u30ff\uff00-\uffef]/;

const NEWLINE = 10;

/**
 * Estimates the tokens of a text exactly like tokenx, in a fifth of the time, because every append counts its text. It
 * classifies ASCII characters by a table, and calls tokenx for runs with other characters. The time is linear in the text's
 * length.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let previous = SPACE;
  for (let start = 0, end = 0; start < text.length; start = end) {
    const first = classAt(text, start);
    const run = (first & IN_WORD) === 0 ? first : IN_WORD;
    let classes = first;
    for (end = start + 1; end < text.length; end++) {
      const next = classAt(text, end);
      if ((next & run) === 0) break;
      classes |= next;
    }
    if (run === SPACE) tokens += spaceTokens(text, start, end, previous);
    else if (run === PUNCTUATION) tokens += Math.ceil((end - start) / 6);
    else if ((classes & FOREIGN) === 0) tokens += wordTokens(end - start, classes);
    else {
      const word = text.slice(start, end);
      if (FOREIGN_BREAK.test(word)) return estimateTokenCount(text);
      tokens += estimateTokenCount(word);
    }
    previous = first;
  }
  return tokens;
}

function classAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code < 128 ? CLASS_OF_ASCII[code]! : FOREIGN;
}

/** White space costs a token if it indents a line, makes an empty line, or ends a line without punctuation. */
function spaceTokens(text: string, start: number, end: number, previous: number): number {
  for (let index = start; index < end; index++) {
    if (text.charCodeAt(index) === NEWLINE) return index < end - 1 || previous !== PUNCTUATION ? 1 : 0;
  }
  return 0;
}

function wordTokens(length: number, classes: number): number {
  if (classes === DIGIT) return Math.ceil(length / 3);
  return length === 8 && classes === LOWER ? 1 : Math.ceil(length / 7);
}
