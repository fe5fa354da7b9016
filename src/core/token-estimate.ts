import { astralCost, FOREIGN, fillCosts, LETTER_BITS, TOKEN, TRIPLES } from "./token-costs.ts";

// The classes of characters. Those of letters come first, then those of white space.
const SMALL = 0;
const FOREIGN_LETTER = 1;
const CAPITAL = 2;
const SPACE = 3;
const LINE = 4;
const MARK = 5;
const DIGIT = 6;
/** The class of the code that ends every walk. Unicode has no such character. */
const END = 7;
const END_CODE = 0xffff;

/** The class of each character; empty until the first text is counted. */
const CLASSES = new Uint8Array(0x10000);

function fillClasses(): void {
  fillCosts((cost, first, end) => CLASSES.fill(cost > 0 ? FOREIGN_LETTER : MARK, first, end));
  CLASSES[END_CODE] = END;
  CLASSES.set(
    ofAscii((character) => {
      if (/[a-z]/.test(character)) return SMALL;
      if (/[A-Z]/.test(character)) return CAPITAL;
      if (/[0-9]/.test(character)) return DIGIT;
      if (/[\r\n]/.test(character)) return LINE;
      return /\s/.test(character) ? SPACE : MARK;
    }),
  );
}

/**
 * A word costs this beside its letters, at the start of a text or after several marks. `JOINED` is for a word right after other
 * letters or digits.
 */
const ALONE = 17;
const JOINED = 12;
/** The same from the third neighbor on. Names seldom change between cases and digits that often, and random identifiers do. */
const RANDOM = 20;
const RANDOM_FROM = 3;
const AFTER_SPACE = 0;
/** Two capital letters in a row. */
const CAPITALS = 4;

/** The same after one space or mark, which mostly shares the word's token. */
const LEAD_OF_ASCII = ofAscii((character) => {
  if (character === " ") return AFTER_SPACE;
  if (/[\r\n]/.test(character)) return ALONE;
  if ("_.-/(\t".includes(character)) return 36;
  return "'=<#[:)".includes(character) ? 60 : 74;
});

/** The costs of the marks of a run, if each differs from the mark before it. A run costs at least one token. */
const CHANGES = [0, 4, 14, 24, 36];
/** The cost of a mark that is the same as the one before it. Lines of hyphens have long tokens. */
const REPEAT_OF_ASCII = ofAscii((character) => ("=-_.*#/~+".includes(character) ? 2 : 16));
const REPEAT_OF_LINES = 8;

/** Some tokenizers give the end of "don't" a token, and others do not. */
const CONTRACTION = /^'(?:[stmd]|re|ve|ll)(?![a-z])/i;

const LETTER_MASK = (1 << LETTER_BITS) - 1;
const TRIPLE_MASK = TRIPLES.length - 1;

const APOSTROPHE = 39;
const SPACE_CODE = 32;
const SLASH = 47;
/** No token holds more white space. */
const INDENT_MAX = 64;
const LINES_MAX = 16;

function ofAscii(choose: (character: string) => number): Uint8Array {
  return Uint8Array.from({ length: 128 }, (_, code) => choose(String.fromCharCode(code)));
}

/** A budget that is not filled does less harm than one that is broken. */
const MARGIN = 1.015;

const CHUNK_CHARS = 1 << 14;
/** The first text that is copied faster as a whole than by the character. */
const WHOLE_CHARS_MIN = 100;

// The walk reads a copy of the text, because it would wait for a string's characters as long as for all its other work.
const codes = new Uint16Array(CHUNK_CHARS + 1);
const bytes = Buffer.from(codes.buffer);
/** Where the last run of marks or white space ended. */
let end = 0;

/**
 * Estimates the tokens of a text for the tokenizers in use. They split it by nearly the same rules: a word with the space or mark
 * before it, up to three digits, a run of marks, a run of white space. Most of these pieces are one token, and the walk finds them
 * all, so text that looks random costs much: its pieces are short. What a word costs beyond one token is estimated from its script
 * and its letters. The time is linear in the text's length.
 */
export function estimateTokens(text: string): number {
  let cost = 0;
  if (CLASSES[END_CODE] !== END) fillClasses();
  for (let start = 0; start < text.length; start += CHUNK_CHARS) {
    cost += costOf(text.length <= CHUNK_CHARS ? text : text.slice(start, start + CHUNK_CHARS));
  }
  return Math.round((cost / TOKEN) * MARGIN);
}

function costOf(text: string): number {
  const { length } = text;
  if (length >= WHOLE_CHARS_MIN) bytes.write(text, "utf16le");
  else for (let index = 0; index < length; index++) codes[index] = text.charCodeAt(index);
  codes[length] = END_CODE;

  let cost = 0;
  /** What the next word costs beside its letters. */
  let lead = ALONE;
  /** The number of words and numbers before this place with nothing between them. */
  let neighbors = 0;
  for (let index = 0; index < length; ) {
    let code = codes[index]!;
    let kind = CLASSES[code]!;
    if (kind <= CAPITAL) {
      let wordCost = lead;
      let letters = 0;
      if (kind === CAPITAL) wordCost -= CAPITALS;
      while (kind === CAPITAL) {
        letters = ((letters << LETTER_BITS) | (code & LETTER_MASK)) & TRIPLE_MASK;
        wordCost += TRIPLES[letters]! + CAPITALS;
        code = codes[++index]!;
        kind = CLASSES[code]!;
      }
      // The next capital letter begins another word.
      while (kind < CAPITAL) {
        if (code < 128) {
          letters = ((letters << LETTER_BITS) | (code & LETTER_MASK)) & TRIPLE_MASK;
          wordCost += TRIPLES[letters]!;
        } else {
          letters = (letters << LETTER_BITS) & TRIPLE_MASK;
          wordCost += FOREIGN[code >> 4]!;
        }
        code = codes[++index]!;
        kind = CLASSES[code]!;
      }
      cost += Math.max(TOKEN, wordCost + TRIPLES[(letters << LETTER_BITS) & TRIPLE_MASK]!);
      neighbors += 1;
      lead = neighbors < RANDOM_FROM ? JOINED : RANDOM;
      continue;
    }
    if (kind === DIGIT) {
      const start = index;
      while (CLASSES[codes[++index]!] === DIGIT);
      cost += Math.ceil((index - start) / 3) * TOKEN;
      neighbors += 1;
      lead = neighbors < RANDOM_FROM ? JOINED : RANDOM;
      continue;
    }
    if (kind === END) {
      cost += TOKEN; // it is in the text
      index += 1;
      lead = ALONE;
    } else if (kind <= LINE) {
      cost += spaceCost(index);
      index = end;
      lead = LEAD_OF_ASCII[codes[index - 1]!]!;
    } else if (code < 128 && lead !== AFTER_SPACE && CLASSES[codes[index + 1]!]! <= CAPITAL) {
      const contraction = code === APOSTROPHE && neighbors > 0 && CONTRACTION.exec(text.slice(index, index + 4));
      if (contraction) cost += TOKEN / 2;
      index += contraction ? contraction[0].length : 1;
      lead = LEAD_OF_ASCII[code]!;
    } else {
      cost += marksCost(index);
      index = end;
      lead = ALONE;
    }
    neighbors = 0;
  }
  return cost;
}

/** The lines are one token, the white space after them another, and its last character joins what follows. */
function spaceCost(start: number): number {
  let index = start;
  let afterLines = start;
  let kind = CLASSES[codes[index]!]!;
  while (kind === SPACE || kind === LINE) {
    index += 1;
    if (kind === LINE) afterLines = index;
    kind = CLASSES[codes[index]!]!;
  }
  end = index;
  let cost = Math.ceil((afterLines - start) / LINES_MAX) * TOKEN;
  let blanks = index - afterLines;
  if (blanks > 0 && kind !== END) {
    blanks -= 1;
    const isJoined = kind <= CAPITAL || (kind === MARK && codes[index - 1] === SPACE_CODE);
    if (!isJoined) cost += TOKEN;
  }
  cost += Math.ceil(blanks / INDENT_MAX) * TOKEN;
  return cost;
}

/** Line breaks and slashes join the marks before them. */
function marksCost(start: number): number {
  let index = start;
  let code = codes[index]!;
  let kind = CLASSES[code]!;
  let cost = code < 128 && code > SPACE_CODE ? TOKEN : 0;
  let changes = 0;
  let previous = 0;
  while (kind === MARK) {
    if (code < 128) {
      if (code === previous) cost += REPEAT_OF_ASCII[code]!;
      else if (code < SPACE_CODE || (previous > 0 && previous < SPACE_CODE))
        cost += TOKEN; // no token has both
      else {
        cost += CHANGES[changes]!;
        if (changes < CHANGES.length - 1) changes += 1;
      }
    } else if (code >= 0xd800 && code < 0xe000) {
      const isPair = code < 0xdc00 && codes[index + 1]! >= 0xdc00 && codes[index + 1]! < 0xe000;
      cost += isPair ? astralCost(code) : TOKEN;
      if (isPair) index += 1;
    } else cost += code === previous ? repeatCost(code) : -FOREIGN[code >> 4]!;
    previous = code;
    code = codes[++index]!;
    kind = CLASSES[code]!;
  }
  while (kind === LINE || code === SLASH) {
    code = codes[++index]!;
    kind = CLASSES[code]!;
  }
  end = index;
  return Math.max(TOKEN, cost);
}

function repeatCost(code: number): number {
  const isLine = (code >= 0x2500 && code < 0x2580) || (code >= 0x2000 && code < 0x2060);
  return isLine ? REPEAT_OF_LINES : -FOREIGN[code >> 4]! >> 1;
}
