import { forEachWord, type WordKind } from "./words.ts";

/** Characters of each text that a label reads, from its beginning: labels are made while an append waits. */
export const LABEL_TEXT_CHARS = 500;
const TEXTS_MAX = 16;
const WORDS_MAX = 4;
/** Longer names fill the line of a tree and are mostly generated. */
const WORD_CHARS_MAX = 40;
/** Words reach full weight at this length: the short ones of a language are its common ones. */
const LONG_WORD_CHARS = 8;

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
  const excerpts = evenlySpaced(texts, TEXTS_MAX).map((text) =>
    text.slice(0, LABEL_TEXT_CHARS).replace(CALL_NAME_LINE, "").replace(MENTION, " "),
  );
  const candidates = new Map<string, Candidate>();
  for (const excerpt of excerpts) countWords(excerpt, candidates);

  const ranked = [...candidates].map(([word, candidate]) => ({ word, score: scoreOf(word, candidate) }));
  ranked.sort((a, b) => b.score - a.score);
  const chosen: string[] = [];
  for (const { word } of ranked) {
    if (chosen.length === WORDS_MAX) break;
    if (!chosen.some((other) => overlaps(other, word))) chosen.push(word);
  }
  return asWritten(chosen, excerpts).join(", ");
}

function countWords(text: string, candidates: Map<string, Candidate>): void {
  const seen = new Set<string>();
  forEachWord(text, (word, kind) => {
    if (seen.has(word) || !isTelling(word)) return;
    seen.add(word);
    const candidate = candidates.get(word);
    if (candidate === undefined) candidates.set(word, { kind, textCount: 1 });
    else {
      candidate.textCount++;
      // Seen once by itself, a piece is a word.
      if (KIND_WEIGHT[kind] > KIND_WEIGHT[candidate.kind]) candidate.kind = kind;
    }
  });
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
function asWritten(words: readonly string[], texts: readonly string[]): string[] {
  const countsByWord = new Map(words.map((word) => [word, new Map<string, number>()]));
  for (const text of texts) {
    const lower = text.toLowerCase();
    if (lower.length !== text.length) continue; // a letter that grows in lower case: places in the two differ
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
