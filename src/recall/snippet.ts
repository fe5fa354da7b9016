import { searchable, searchStem, searchWords, stemBeginning } from "../models/search-words.ts";

/** Characters a snippet aims at; the words at its ends stay whole. */
const SNIPPET_CHARS = 240;

/** Of a text in which nothing matches: twice what is shown of it, and the longest run. */
const UNMATCHED_CHARS = 1_000;

const MARK = "**";

/** What Markdown marks so: it would be taken for what matched. */
const BOLD = /(?<![\p{L}\p{N}*])\*\*(?=[^\s*])([^*]{1,500}?)(?<=[^\s*])\*\*(?![\p{L}\p{N}*])/gu;

/** What follows a character and belongs to it: marks, the rest of an emoji, of a flag, of a syllable. */
const EXTENSION =
  /(?:\u200d|(?<=\u200d)\S|[\p{M}\p{Emoji_Modifier}\u200c\u{e0020}-\u{e007f}\u1160-\u11ff\u0e33\u0eb3]|(?<=(?<!\p{RI})(?:\p{RI}{2})*\p{RI})\p{RI})*/u;

/** Runs between white space, or up to the end of a clause where a script has none: what a snippet is cut at. */
const RUN = new RegExp(`[^\\s、。，！？；：]{1,120}${EXTENSION.source}[、。，！？；：]*|[、。，！？；：]+`, "gu");

/** A word, or an identifier or path as a whole. */
const TOKEN = /[\p{L}\p{M}\p{N}_$]+(?:[./\\:@-][\p{L}\p{M}\p{N}_$]+)*/gu;

/** Scripts whose words stand side by side. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

interface Run {
  start: number;
  end: number;
  /** Indexes of the query's words in it. */
  matches: number[];
}

/**
 * The stretch of a text that has most of a query's words, each counted once by its weight, on one line. Words that match
 * stand between `**`, which is taken away where Markdown has it; where the text goes on, there is an ellipsis.
 *
 * @param weights  By stem, as `searchStem` gives it.
 */
export function snippetOf(text: string, weights: ReadonlyMap<string, number>): string {
  const plain = text.replace(BOLD, "$1");
  const stems = [...weights.keys()];
  const indexOf = new Map(stems.map((stem, index) => [stem, index]));
  const runs = runsOf(plain, indexOf);
  const [first, last] = bestStretch(
    runs,
    stems.map((stem) => weights.get(stem)!),
  );
  const shown = runs.slice(first, last + 1).map(({ start, end, matches }, index) => {
    const gap = index > 0 && start > runs[first + index - 1]!.end ? " " : "";
    const run = plain.slice(start, end);
    return matches.length > 0 ? `${gap}${marked(run, indexOf)}` : `${gap}${run}`;
  });
  return `${first > 0 ? "… " : ""}${shown.join("")}${last < runs.length - 1 ? " …" : ""}`;
}

/** Around each word or identifier that matches; where words stand side by side, around the letters that do. */
function marked(run: string, indexOf: ReadonlyMap<string, number>): string {
  return run.replace(TOKEN, (token) => {
    const matching = searchWords(token).filter((word) => indexOf.has(searchStem(word)));
    if (matching.length === 0) return token;
    const compared = searchable(token);
    if (!UNSPACED.test(token) || compared.length !== token.length) return `${MARK}${token}${MARK}`;
    const isMarked = new Array<boolean>(token.length).fill(false);
    for (const word of matching) {
      for (let at = compared.indexOf(word); at >= 0; at = compared.indexOf(word, at + 1)) {
        isMarked.fill(true, at, at + word.length);
      }
    }
    const isEdge = (at: number): boolean => (isMarked[at - 1] ?? false) !== (isMarked[at] ?? false);
    return `${Array.from(token.split(""), (unit, at) => (isEdge(at) ? MARK : "") + unit).join("")}${isEdge(token.length) ? MARK : ""}`;
  });
}

/** Runs of a text; where nothing matches, no more than can be shown. */
function runsOf(text: string, indexOf: ReadonlyMap<string, number>): Run[] {
  const compared = searchable(text);
  const places = placesOf(compared, [...indexOf.keys()].map(stemBeginning));
  if (places.length === 0) return Array.from(text.slice(0, UNMATCHED_CHARS).matchAll(RUN), (run) => runOf(run, []));
  // Where the letters are not in the same places, any run may match.
  const isAligned = compared.length === text.length;
  let next = 0;
  return Array.from(text.matchAll(RUN), (run) => {
    const end = run.index + run[0].length;
    const isCandidate = !isAligned || places[next]! < end;
    while (places[next]! < end) next += 1;
    const matches = new Set<number>();
    // Most runs are passed over here, and not taken apart.
    for (const word of isCandidate ? searchWords(run[0]) : []) {
      const match = indexOf.get(searchStem(word));
      if (match !== undefined) matches.add(match);
    }
    return runOf(run, [...matches]);
  });
}

function runOf({ 0: run, index }: RegExpExecArray, matches: number[]): Run {
  return { start: index, end: index + run.length, matches };
}

/** Where any of some texts stand in another, in order. */
function placesOf(text: string, sought: readonly string[]): number[] {
  const places: number[] = [];
  for (const one of sought) {
    for (let at = text.indexOf(one); at >= 0; at = text.indexOf(one, at + one.length)) places.push(at);
  }
  return places.sort((left, right) => left - right);
}

/** First and last run of the stretch: the one worth most, of equals the first; then widened evenly. */
function bestStretch(runs: readonly Run[], weights: readonly number[]): [number, number] {
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
  return widened(runs, trimmed(runs, best));
}

/** Without the runs at its beginning that match nothing: they are only there because there was room. */
function trimmed(runs: readonly Run[], [first, last]: [number, number]): [number, number] {
  let from = first;
  while (from < last && runs[from]!.matches.length === 0) from += 1;
  return [from, last];
}

function widened(runs: readonly Run[], [first, last]: [number, number]): [number, number] {
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
