import { searchable, searchStem, searchWords, stemBeginning } from "../models/search-words.ts";

/** The intended length of a snippet, in characters. Words at its ends stay whole. */
export const SNIPPET_CHARS = 240;

/** The characters that are read of a text without a match. They have room for a snippet and the longest run. */
const UNMATCHED_CHARS = 1_000;

/** Characters that belong to the preceding character: marks, and the rest of an emoji, a flag or a syllable. */
const EXTENSION =
  /(?:\u200d|(?<=\u200d)\S|[\p{M}\p{Emoji_Modifier}\u200c\u{e0020}-\u{e007f}\u1160-\u11ff\u0e33\u0eb3]|(?<=(?<!\p{RI})(?:\p{RI}{2})*\p{RI})\p{RI})*/u;

/** Runs between white space or, in scripts without spaces, up to the end of a clause. Snippets are cut between runs. */
const RUN = new RegExp(`[^\\s、。，！？；：]{1,120}${EXTENSION.source}[、。，！？；：]*|[、。，！？；：]+`, "gu");

/** A word, or an identifier or path as a whole. */
const TOKEN = /[\p{L}\p{M}\p{N}_$]+(?:[./\\:@-][\p{L}\p{M}\p{N}_$]+)*/gu;

const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/** The first index of a matching word, and the one after its last. They count UTF-16 units, as strings do. */
export type Mark = readonly [from: number, to: number];

export interface Snippet {
  text: string;
  /** The words of the query in it, in order. */
  marks: readonly Mark[];
}

interface TextRun {
  start: number;
  end: number;
  matches: number[];
}

/**
 * Returns the part of a text that has most of a query's words, on one line. Each word counts once, by its weight. An ellipsis
 * stands for text before or after the part.
 *
 * @param weights  The weights of the query's words, by `searchStem`.
 */
export function snippetOf(text: string, weights: ReadonlyMap<string, number>): Snippet {
  const indexOf = new Map(Array.from(weights.keys(), (stem, index) => [stem, index]));
  const runs = runsOf(text, indexOf);
  const [first, last] = bestPart(runs, [...weights.values()]);
  let shown = first > 0 ? "… " : "";
  const marks: Mark[] = [];
  for (let index = first; index <= last; index++) {
    const { start, end, matches } = runs[index]!;
    if (index > first && start > runs[index - 1]!.end) shown += " ";
    const run = text.slice(start, end);
    if (matches.length > 0)
      for (const [from, to] of marksIn(run, indexOf)) marks.push([shown.length + from, shown.length + to]);
    shown += run;
  }
  return { text: `${shown}${last < runs.length - 1 ? " …" : ""}`, marks };
}

/** Returns where a text on one line has words of a query. @param weights  As for `snippetOf`. */
export function marksOf(text: string, weights: ReadonlyMap<string, number>): Mark[] {
  return [...marksIn(text, new Map(Array.from(weights.keys(), (stem, index) => [stem, index])))];
}

/** A text without its letters: which of its UTF-16 units are halves of a character. */
function shapeOf(text: string): string {
  return text.replace(/[^\ud800-\udfff]/g, "x").replace(/[^x]/g, "h");
}

/** Yields the words and identifiers that match. In scripts without spaces, yields only the matching letters. */
function* marksIn(run: string, indexOf: ReadonlyMap<string, number>): Generator<Mark> {
  for (const { 0: token, index } of run.matchAll(TOKEN)) {
    const matching = searchWords(token).filter((word) => indexOf.has(searchStem(word)));
    if (matching.length === 0) continue;
    const compared = searchable(token);
    if (!UNSPACED.test(token) || shapeOf(compared) !== shapeOf(token)) {
      yield [index, index + token.length];
      continue;
    }
    const isMarked = new Array<boolean>(token.length).fill(false);
    for (const word of matching) {
      for (let at = compared.indexOf(word); at >= 0; at = compared.indexOf(word, at + 1)) {
        isMarked.fill(true, at, at + word.length);
      }
    }
    for (let from = isMarked.indexOf(true); from >= 0; ) {
      const next = isMarked.indexOf(false, from);
      const to = next < 0 ? token.length : next;
      yield [index + from, index + to];
      from = isMarked.indexOf(true, to);
    }
  }
}

/** Returns the runs of a text. If nothing matches, returns only the first, which a snippet may show. */
function runsOf(text: string, indexOf: ReadonlyMap<string, number>): TextRun[] {
  const compared = searchable(text);
  const indexes = indexesOf(compared, [...indexOf.keys()].map(stemBeginning));
  if (indexes.length === 0) return Array.from(text.slice(0, UNMATCHED_CHARS).matchAll(RUN), (run) => runOf(run, []));
  // If the searchable text has another length, its indexes are useless here, so any run may match.
  const isAligned = compared.length === text.length;
  let next = 0;
  return Array.from(text.matchAll(RUN), (run) => {
    const end = run.index + run[0].length;
    const isCandidate = !isAligned || indexes[next]! < end;
    while (indexes[next]! < end) next += 1;
    const matches = new Set<number>();
    for (const word of isCandidate ? searchWords(run[0]) : []) {
      const match = indexOf.get(searchStem(word));
      if (match !== undefined) matches.add(match);
    }
    return runOf(run, [...matches]);
  });
}

function runOf({ 0: run, index }: RegExpExecArray, matches: number[]): TextRun {
  return { start: index, end: index + run.length, matches };
}

function indexesOf(text: string, sought: readonly string[]): number[] {
  const indexes: number[] = [];
  for (const one of sought) {
    for (let at = text.indexOf(one); at >= 0; at = text.indexOf(one, at + one.length)) indexes.push(at);
  }
  return indexes.sort((left, right) => left - right);
}

/** Returns the first and last run of the best part, widened on both sides. Of equally good parts, the first is chosen. */
function bestPart(runs: readonly TextRun[], weights: readonly number[]): [number, number] {
  const counts = weights.map(() => 0);
  let [worth, bestWorth, first] = [0, 0, 0];
  let best: [number, number] = [0, -1];
  runs.forEach(({ end, matches }, last) => {
    for (const match of matches) if (counts[match]!++ === 0) worth += weights[match]!;
    while (first < last && end - runs[first]!.start > SNIPPET_CHARS) {
      for (const match of runs[first]!.matches) if (--counts[match]! === 0) worth -= weights[match]!;
      first += 1;
    }
    if (worth <= bestWorth) return;
    bestWorth = worth;
    best = [first, last];
  });
  // Drop runs without a match at the beginning of the part.
  while (best[0] < best[1] && runs[best[0]]!.matches.length === 0) best[0] += 1;
  return widened(runs, best);
}

function widened(runs: readonly TextRun[], [first, last]: [number, number]): [number, number] {
  let [from, to] = last < first ? [0, Math.min(0, runs.length - 1)] : [first, last];
  const lengthOf = (start: number, end: number) => runs[end]!.end - runs[start]!.start;
  for (let moved = runs.length > 0; moved; ) {
    moved = false;
    if (to < runs.length - 1 && lengthOf(from, to + 1) <= SNIPPET_CHARS) {
      to += 1;
      moved = true;
    }
    if (from > 0 && lengthOf(from - 1, to) <= SNIPPET_CHARS) {
      from -= 1;
      moved = true;
    }
  }
  return [from, to];
}
