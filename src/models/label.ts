import { forEachWord, type WordKind } from "./words.ts";

/** Characters of each text that a label reads, from its beginning: labels are made while an append waits. */
export const LABEL_TEXT_CHARS = 500;
const TEXTS_MAX = 16;
const WORDS_MAX = 4;
/** Longer names fill the line of a tree and are mostly generated. */
const WORD_CHARS_MAX = 40;
/** Words reach full weight at this length: the short ones of a language are its common ones. */
const LONG_WORD_CHARS = 8;

/** Openings whose words are kept: as many as all open clusters of a session have for their labels, in about 5 MB. */
const OPENINGS_KEPT_MAX = 1_024;

/** How telling each kind is: names were chosen by someone for this very thing. A piece tells less than the name it is from. */
const KIND_WEIGHT: Record<WordKind, number> = { whole: 2, word: 1, piece: 0.4, gram: 0.7 };

/** True of nearly any work on code, so hardly telling. */
const GENERIC = new Set(
  "add argument change check code command content data default directory error exist fail false file fix folder function http https implement import include input issue line list message method name new null number object option output parameter path read remove result return run set show start string task test text tool true type update user value work write"
    .split(" ")
    .flatMap((word) => [word, `${word}s`, `${word}ed`, `${word}ing`]),
);
const GENERIC_FACTOR = 0.3;

const CALL_NAME_LINE = /^[A-Za-z][\w.:-]{1,63}\n/;
/** Hexadecimal and long numbers, places in a file. */
const ID = /^(?=.*\d)[0-9a-f-]{6,}$|\d{5}|:\d+$/;
/** Two letters in a row, or one of a script that needs no more: not `e.g`. */
const HAS_LETTERS = /\p{L}{2}|[^\x00-\x7f]/u;
/** People spoken to are not what is spoken of. */
const MENTION = /(?<![\w@/])@[\w-]+(?![\w/.-])/g;
const UNSPACED = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]+$/u;
const WORD_CHARACTER = /[\p{L}\p{N}_]/u;
/** What a stem may have lost: `releas` is written `released`. */
const ENDING_CHARS_MAX = 6;
const ENDING = /^\p{Ll}*/u;
const HYPHENATED = /^[^._$\d]*-[^._$\d]*$/;

interface Candidate {
  kind: WordKind;
  textCount: number;
}

/**
 * The telling words of some texts: at most four names and words, joined by ", ", the most telling first; "" if there are no words.
 *
 * A word tells by how many texts hold it (sublinearly), by being a name (identifier, file) and by its length; nothing but
 * the texts is consulted. Of words that contain each other the more telling is kept. Reads the first
 * `LABEL_TEXT_CHARS` of up to 16 texts, evenly spaced.
 */
export function labelOf(texts: readonly string[]): string {
  const openings = evenlySpaced(texts, TEXTS_MAX).map((text) => openingOf(text.slice(0, LABEL_TEXT_CHARS)));
  const candidates = new Map<string, Candidate>();
  for (const { words } of openings) countWords(words, candidates);

  const ranked = [...candidates].map(([word, candidate]) => ({ word, score: scoreOf(word, candidate) }));
  const chosen: string[] = [];
  // A few looks for the best one left, where only four of hundreds are wanted: cheaper than putting all in order.
  for (let left = ranked.length; left > 0 && chosen.length < WORDS_MAX; left--) {
    const best = ranked.reduce((first, other) => (other.score > first.score ? other : first));
    if (!chosen.some((other) => overlaps(other, best.word))) chosen.push(best.word);
    best.score = Number.NEGATIVE_INFINITY;
  }
  return asWritten(chosen, openings).join(", ");
}

/**
 * What a label reads of a text. A cluster gets its label anew with each step that joins it, from the same openings: those
 * read of late are kept.
 */
interface Opening {
  text: string;
  /** In lower case, where each letter has its place in `text`: one that grows in lower case moves those after it. */
  lower: string | undefined;
  /** Each telling word once, with the kind it has where it first stands. */
  words: ReadonlyMap<string, WordKind>;
}

/** By the beginning of a text, the one used last at the end. */
const openingsKept = new Map<string, Opening>();

function openingOf(beginning: string): Opening {
  const opening = openingsKept.get(beginning) ?? readOpening(beginning);
  openingsKept.delete(beginning);
  openingsKept.set(beginning, opening);
  if (openingsKept.size > OPENINGS_KEPT_MAX) openingsKept.delete(openingsKept.keys().next().value!);
  return opening;
}

function readOpening(beginning: string): Opening {
  const text = beginning.replace(CALL_NAME_LINE, "").replace(MENTION, " ");
  const words = new Map<string, WordKind>();
  forEachWord(text, (word, kind) => {
    if (!words.has(word) && isTelling(word)) words.set(word, kind);
  });
  const lower = text.toLowerCase();
  return { text, lower: lower.length === text.length ? lower : undefined, words };
}

function countWords(words: ReadonlyMap<string, WordKind>, candidates: Map<string, Candidate>): void {
  for (const [word, kind] of words) {
    const candidate = candidates.get(word);
    if (candidate === undefined) candidates.set(word, { kind, textCount: 1 });
    else {
      candidate.textCount++;
      // Seen once by itself, a piece is a word.
      if (KIND_WEIGHT[kind] > KIND_WEIGHT[candidate.kind]) candidate.kind = kind;
    }
  }
}

function isTelling(word: string): boolean {
  return word.length <= WORD_CHARS_MAX && !word.includes("/") && !ID.test(word) && HAS_LETTERS.test(word);
}

function scoreOf(word: string, { kind, textCount }: Candidate): number {
  const length = kind === "gram" ? 1 : Math.min(word.length, LONG_WORD_CHARS) / LONG_WORD_CHARS;
  // `object-like` is no name; `ann-index.ts` is.
  const weight = kind === "whole" && HYPHENATED.test(word) ? KIND_WEIGHT.word : KIND_WEIGHT[kind];
  return (Math.sqrt(textCount) - 0.5) * weight * length * (GENERIC.has(word) ? GENERIC_FACTOR : 1);
}

function overlaps(a: string, b: string): boolean {
  if (a.includes(b) || b.includes(a)) return true;
  return UNSPACED.test(a) && UNSPACED.test(b) && [...a].some((character) => b.includes(character));
}

/** Words, which may be stems, in the spelling in which the texts have them most often; among equals, the first. */
function asWritten(words: readonly string[], openings: readonly Opening[]): string[] {
  const countsByWord = new Map(words.map((word) => [word, new Map<string, number>()]));
  for (const { text, lower } of openings) {
    if (lower === undefined) continue;
    for (const [word, counts] of countsByWord) {
      // A plain search, and a look at both ends of what it finds: one pattern for all of it would look at every character.
      for (let at = lower.indexOf(word); at !== -1; at = lower.indexOf(word, at + word.length)) {
        if (at > 0 && WORD_CHARACTER.test(text[at - 1]!)) continue;
        const [ending] = ENDING.exec(text.slice(at + word.length, at + word.length + ENDING_CHARS_MAX))!;
        const end = at + word.length + ending.length;
        if (end < text.length && WORD_CHARACTER.test(text[end]!)) continue;
        const spelling = text.slice(at, end);
        counts.set(spelling, (counts.get(spelling) ?? 0) + 1);
      }
    }
  }
  return words.map((word) => {
    const counts = [...countsByWord.get(word)!];
    return counts.reduce((best, other) => (other[1] > best[1] ? other : best), counts[0] ?? [word, 0])[0];
  });
}

function evenlySpaced<T>(items: readonly T[], countMax: number): readonly T[] {
  if (items.length <= countMax) return items;
  return Array.from({ length: countMax }, (_, index) => items[Math.floor((index * items.length) / countMax)]!);
}
