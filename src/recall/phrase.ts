import { forEachSearchWord, searchStem } from "../models/search-words.ts";

/** The most words that are looked up for a phrase. A dozen are enough, because the texts are compared afterwards. */
const NARROWING_MAX = 12;

/** The most extra words in the index between two words of a phrase. A path, for example, is indexed before its pieces. */
const BETWEEN_MAX = 10;

/** Most words have one of these letters, with or without a sign, as in `C++`. */
const SHORT_NAME = /^[a-z]{1,2}[^\p{L}\p{N}\s]{0,2}$/u;
const IN_WORD = /[\p{L}\p{N}_]/u;

const NOT_ASCII = /[^\x00-\x7f]/;

/** A text in double quotes. A hit must hold it letter by letter. */
export interface Phrase {
  /** In lower case, with one space between two runs. */
  compared: string;
  /** The words at both ends of the phrase. They must be whole words of the message. */
  first: RunWords;
  last: RunWords;
  /** The first runs between white space that have words. A message with the phrase has the words of each of them. */
  runs: readonly RunWords[];
}

/** The words under which a run is indexed: any of `wholes` for the run as a whole, or all of `parts`, its pieces. */
export interface RunWords {
  wholes: string[];
  parts: string[];
  isWord: boolean;
}

export function phraseOf(text: string): Phrase {
  const runs = text.trim().split(/\s+/);
  return {
    compared: asCompared(text),
    first: runWordsOf(runs[0]!),
    last: runWordsOf(runs.at(-1)!),
    runs: firstWords(runs),
  };
}

/**
 * Returns true if a text holds every phrase, in any case and with any white space between two words. A phrase may begin and
 * end within a name but not within a word: `blobStore.ts` holds "store", "datastore" does not.
 */
export function holdsPhrases(text: string, phrases: readonly Phrase[]): boolean {
  if (phrases.length === 0) return true;
  const written = onOneLine(text);
  const compared = written.toLowerCase();
  // A few letters get longer in lower case, so the indexes of the two texts differ.
  const named = compared.length === written.length ? written : compared;
  return phrases.every((phrase) => holds(named, compared, phrase));
}

/** Returns true if a text holds every phrase letter by letter, also within words. A name such as `R` must not be within a word. */
export function holdsLetters(text: string, phrases: readonly Phrase[]): boolean {
  const compared = asCompared(text);
  return phrases.every(({ compared: phrase }) => {
    if (!SHORT_NAME.test(phrase)) return compared.includes(phrase);
    for (let at = compared.indexOf(phrase); at >= 0; at = compared.indexOf(phrase, at + 1)) {
      if (!IN_WORD.test(compared.charAt(at - 1)) && !IN_WORD.test(compared.charAt(at + phrase.length))) return true;
    }
    return false;
  });
}

export function asCompared(text: string): string {
  return onOneLine(text).toLowerCase();
}

/** @param named  Like `compared`, but with capitals, because they divide a name into pieces. */
function holds(named: string, compared: string, phrase: Phrase): boolean {
  const { length } = phrase.compared;
  for (let from = 0; ; ) {
    const start = compared.indexOf(phrase.compared, from);
    if (start < 0) return false;
    const firstEnd = endOfRun(named, start);
    const lastStart = startOfRun(named, start + length - 1);
    const first = named.slice(startOfRun(named, start), firstEnd);
    const last = named.slice(lastStart, endOfRun(named, start + length - 1));
    if (hasWords(first, phrase.first) && hasWords(last, phrase.last)) return true;
    from = firstEnd;
  }
}

function startOfRun(text: string, at: number): number {
  return text.lastIndexOf(" ", at) + 1;
}

function endOfRun(text: string, at: number): number {
  const end = text.indexOf(" ", at);
  return end < 0 ? text.length : end;
}

function hasWords(run: string, { wholes, parts }: RunWords): boolean {
  if (wholes.length + parts.length === 0) return true;
  const stems = new Set<string>();
  forEachSearchWord(run, (word) => void stems.add(searchStem(word)));
  const has = (word: string): boolean => stems.has(searchStem(word));
  return wholes.some(has) || (parts.length > 0 && parts.every(has));
}

function onOneLine(text: string): string {
  return (NOT_ASCII.test(text) ? text.normalize("NFC") : text).replace(/\s+/g, " ").trim();
}

function runWordsOf(run: string): RunWords {
  const wholes: string[] = [];
  const parts: string[] = [];
  let [wordCount, pieceCount] = [0, 0];
  forEachSearchWord(run, (word, kind) => {
    if (kind === "whole") wholes.push(word);
    // In a script without spaces, a single character is only indexed if it stands alone.
    else if (kind !== "gram" || [...word].length > 1) parts.push(word);
    if (kind === "word") wordCount += 1;
    else pieceCount += 1;
  });
  return {
    wholes: wholes.slice(0, NARROWING_MAX),
    parts: parts.slice(0, NARROWING_MAX),
    isWord: wordCount === 1 && pieceCount === 0,
  };
}

function firstWords(runs: readonly string[]): RunWords[] {
  const found: RunWords[] = [];
  for (const run of runs) {
    if (found.length === NARROWING_MAX) break;
    const words = runWordsOf(run);
    if (words.wholes.length + words.parts.length > 0) found.push(words);
  }
  return found;
}

/**
 * Writes an FTS5 expression that matches every message with a phrase; "" if there is none. Plain words that follow each other must
 * be near each other.
 */
export function expressionOf({ runs }: Phrase): string {
  const expressions: string[] = [];
  let neighbors: string[] = [];
  const endNeighbors = () => {
    // NEAR also counts the words between the first and the last.
    const distance = BETWEEN_MAX + neighbors.length;
    if (neighbors.length > 1) expressions.push(`NEAR(${neighbors.join(" ")}, ${distance})`);
    else expressions.push(...neighbors);
    neighbors = [];
  };
  for (const { wholes, parts, isWord } of runs) {
    if (isWord) {
      neighbors.push(`"${parts[0]}"`);
      continue;
    }
    endNeighbors();
    const alternatives = wholes.map((word) => `"${word}"`);
    if (parts.length > 0) alternatives.push(`(${parts.map((word) => `"${word}"`).join(" AND ")})`);
    expressions.push(`(${alternatives.join(" OR ")})`);
  }
  endNeighbors();
  return expressions.join(" AND ");
}
