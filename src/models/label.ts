import { forEachWord, type WordKind } from "./words.ts";

/** Only the beginning of each text is read, because an append may wait for it. */
const TEXT_CHARS_MAX = 500;
const TEXTS_MAX = 16;
const WORDS_MAX = 4;
const WORD_CHARS_MAX = 40; // longer names are mostly generated
/** A word has full weight from this length on. Shorter words are mostly common ones. */
const LONG_WORD_CHARS = 8;

/** Enough for all open clusters of a session, in about 5 MB. */
const OPENINGS_KEPT_MAX = 1_024;

const KIND_WEIGHT: Record<WordKind, number> = { whole: 2, word: 1, piece: 0.4, gram: 0.7 };

/** Words that occur in nearly all work on code. */
const GENERIC = new Set(
  "add argument change check code command content data default directory error exist fail false file fix folder function http https implement import include input issue line list message method name new null number object option output parameter path read remove result return run set show start string task test text tool true type update user value work write"
    .split(" ")
    .flatMap((word) => [word, `${word}s`, `${word}ed`, `${word}ing`]),
);
const GENERIC_FACTOR = 0.3;

const CALL_NAME_LINE = /^[A-Za-z][\w.:-]{1,63}\n/;
const ID = /^(?=.*\d)[0-9a-f-]{6,}$|\d{5}|:\d+$/;
/** Two letters in a row, or a character beyond ASCII. `e.g` does not match. */
const HAS_LETTERS = /\p{L}{2}|[^\x00-\x7f]/u;
const MENTION = /(?<![\w@/])@[\w-]+(?![\w/.-])/g;
const UNSPACED = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}]+$/u;
const WORD_CHARACTER = /[\p{L}\p{N}_]/u;
/** A stem may have lost this many characters: `releas` comes from `released`. */
const ENDING_CHARS_MAX = 6;
const ENDING = /^\p{Ll}*/u;
const HYPHENATED = /^[^._$\d]*-[^._$\d]*$/;

interface Candidate {
  kind: WordKind;
  textCount: number;
}

/**
 * Returns up to four words that characterize some texts, joined by ", ", best first, or "" if there are no words. Only the first
 * 500 characters of up to 16 texts are read. A word that occurs in more texts scores higher, and so do names (identifiers,
 * files) and long words. If one word contains another, only the better one is kept.
 */
export function labelOf(texts: readonly string[]): string {
  const openings = evenlySpaced(texts, TEXTS_MAX).map((text) => openingOf(text.slice(0, TEXT_CHARS_MAX)));
  const candidates = new Map<string, Candidate>();
  for (const { words } of openings) countWords(words, candidates);

  const ranked = [...candidates].map(([word, candidate]) => ({ word, score: scoreOf(word, candidate) }));
  const chosen: string[] = [];
  // Four searches for the maximum are cheaper than sorting hundreds of candidates.
  for (let left = ranked.length; left > 0 && chosen.length < WORDS_MAX; left--) {
    const best = ranked.reduce((first, other) => (other.score > first.score ? other : first));
    if (!chosen.some((other) => overlaps(other, best.word))) chosen.push(best.word);
    best.score = Number.NEGATIVE_INFINITY;
  }
  return asWritten(chosen, openings).join(", ");
}

/** A text's beginning and its words. They are kept, because the next label of a cluster reads mostly the same texts. */
interface Opening {
  text: string;
  /** `text` in lower case. Undefined if its length would change, because the indexes would differ. */
  lower: string | undefined;
  /** Each word worth showing, with the kind of its first occurrence. */
  words: ReadonlyMap<string, WordKind>;
}

/** The keys are texts. The least recently used is first. */
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
    if (!words.has(word) && isLabelWord(word)) words.set(word, kind);
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
      // A piece that also occurs alone is a word.
      if (KIND_WEIGHT[kind] > KIND_WEIGHT[candidate.kind]) candidate.kind = kind;
    }
  }
}

export function isLabelWord(word: string): boolean {
  return word.length <= WORD_CHARS_MAX && !word.includes("/") && !ID.test(word) && HAS_LETTERS.test(word);
}

function scoreOf(word: string, { kind, textCount }: Candidate): number {
  return (Math.sqrt(textCount) - 0.5) * weightOf(word, kind);
}

/** Returns how much a word tells about a text. Names and long words tell more; words that occur in all work on code tell less. */
export function weightOf(word: string, kind: WordKind): number {
  const length = kind === "gram" ? 1 : Math.min(word.length, LONG_WORD_CHARS) / LONG_WORD_CHARS;
  // `object-like` is not a name; `ann-index.ts` is.
  const weight = kind === "whole" && HYPHENATED.test(word) ? KIND_WEIGHT.word : KIND_WEIGHT[kind];
  return weight * length * (GENERIC.has(word) ? GENERIC_FACTOR : 1);
}

function overlaps(a: string, b: string): boolean {
  if (a.includes(b) || b.includes(a)) return true;
  return UNSPACED.test(a) && UNSPACED.test(b) && [...a].some((character) => b.includes(character));
}

/** Returns the most frequent spelling of each word or stem in the texts. If two are equally frequent, the first wins. */
function asWritten(words: readonly string[], openings: readonly Opening[]): string[] {
  const countsByWord = new Map(words.map((word) => [word, new Map<string, number>()]));
  for (const { text, lower } of openings) {
    if (lower === undefined) continue;
    for (const [word, counts] of countsByWord) {
      // This is faster than a pattern, which would test every character.
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

/** Returns at most `countMax` of the items, spread evenly over the list. */
export function evenlySpaced<T>(items: readonly T[], countMax: number): readonly T[] {
  if (items.length <= countMax) return items;
  return Array.from({ length: countMax }, (_, index) => items[Math.floor((index * items.length) / countMax)]!);
}
