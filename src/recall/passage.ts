import { outputIn } from "../models/actions.ts";
import { cutLine, plainText } from "../models/lines.ts";
import { searchStem, searchWords } from "../models/search-words.ts";
import { type Sentence, sentencesOf } from "../models/sentences.ts";
import { marksOf, SNIPPET_CHARS, type Snippet, snippetOf } from "./snippet.ts";

/** Longer texts are read up to here. */
const READ_CHARS = 40_000;
/** A terminal shows about so many characters of a passage, so words after them count less. */
const FIRST_CHARS = 140;
const LATER_SHARE = 0.5;

/** How much words count in a line of this kind. The sentence before a block of code says what the code is for. */
const KINDS: Readonly<Record<Sentence["kind"], number>> = { prose: 1, heading: 0.8, row: 0.9, quote: 0.8, code: 0.6 };

/** Words with which an agent says what it is about to do. Such a sentence rarely answers. */
const ANNOUNCES =
  /^(?:(?:perfect|great|good|ok(?:ay)?|now)[!,.]?\s+)?(?:(?:now\s+)?let me|let['’]s|i['’]ll|i will|i need to)\b/i;
const ANNOUNCED_SHARE = 0.7;
/** The end of a line that says nothing without what it announces: `:`, also in bold or in brackets. */
const ANNOUNCING = /[:：]["'”’)\]*_`]{0,3}$/;
/** Less of what is announced is not worth showing. */
const ANNOUNCED_CHARS_MIN = 40;

/** It tells nothing before the sentence that it introduces. */
const EXCLAIMED = /^(?:perfect|great|excellent|good|got it|ok(?:ay)?|done|yes)[!.,]\s+(?=\S)/i;

const LINE_NUMBER = /^\s*\d{1,6}(?:[→\t|]|:(?=\s))\s?/;
const DIFF = /^(?:@@ |diff --git |\*\*\* (?:Update|Add) File: )/m;
const DIFF_HEAD = /^(?:@@ |diff --git |index [0-9a-f]{6,}|--- |\+\+\+ |\*\*\* )/;
const DIFF_SIGN = /^[+-](?!-)/;
/** Marks that draw a line. */
const DRAWN = /([═─━—=_*~#-])\1{3,}/g;
/** A line of marks, such as the brackets of JSON. */
const HAS_WORD = /[\p{L}\p{N}]/u;

interface Unit {
  text: string;
  /** How much its words count. */
  share: number;
  /** True if lines before it are left out. */
  follows: boolean;
}

/**
 * Returns what of a message answers a query, on one line: the sentence with most of the query's words and what follows it or, of what a
 * tool printed, the lines that match and the ones after them. Line numbers, the marks of diffs and JSON around a text are left out.
 *
 * @param isPrinted  True for what a tool printed, and for a call.
 * @param weights  The weights of the query's words, by `searchStem`.
 */
export function passageOf(text: string, isPrinted: boolean, weights: ReadonlyMap<string, number>): Snippet {
  const passage = passageIn(text.slice(0, READ_CHARS), isPrinted, weights);
  // The words of the query may stand after what was read.
  return passage.marks.length === 0 && text.length > READ_CHARS ? snippetOf(text, weights) : passage;
}

function passageIn(read: string, isPrinted: boolean, weights: ReadonlyMap<string, number>): Snippet {
  const units = isPrinted ? printedUnits(read, weights) : saidUnits(read);
  const { from, to } = bestOf(units, weights);
  const chosen = units.slice(from, to + 1);
  const [next] = units.slice(to + 1);
  const joined = chosen.map(({ text, follows }, at) => (at === 0 ? text : `${follows ? " … " : " "}${text}`)).join("");
  const room = SNIPPET_CHARS - joined.length - 1;
  const isAnnounced = ANNOUNCING.test(joined) && next?.follows === false && room >= ANNOUNCED_CHARS_MIN;
  if (chosen.length <= 1 && !isAnnounced) return snippetOf(chosen[0]?.text ?? read, weights);
  const shown = isAnnounced ? `${joined} ${cutLine(next.text, room)}` : joined;
  return { text: shown, marks: marksOf(shown, weights) };
}

function saidUnits(text: string): Unit[] {
  return sentencesOf(text).flatMap(({ text: sentence, kind }) => {
    const said = withoutDrawing(sentence).replace(EXCLAIMED, "");
    if (!HAS_WORD.test(said) || DIFF_HEAD.test(said)) return [];
    return [{ text: said, share: KINDS[kind] * (ANNOUNCES.test(said) ? ANNOUNCED_SHARE : 1), follows: false }];
  });
}

/** Returns the lines that match, each with the one after it; all lines if none does. */
function printedUnits(text: string, weights: ReadonlyMap<string, number>): Unit[] {
  const output = plainText(withoutJson(outputIn(text)));
  const isDiff = DIFF.test(output);
  const lines = output.split("\n").flatMap((line) => {
    if (isDiff && DIFF_HEAD.test(line)) return [];
    const bare = line
      .replace(LINE_NUMBER, "")
      .replace(isDiff ? DIFF_SIGN : /$^/, "")
      .replace(/\s+/g, " ")
      .trim();
    return HAS_WORD.test(bare) ? [bare] : [];
  });
  const matches = lines.map((line) => stemsIn(line).some((stem) => weights.has(stem)));
  const isNone = !matches.includes(true);
  let last = -1;
  return lines.flatMap((line, at) => {
    if (!isNone && !matches[at] && !matches[at - 1]) return [];
    const follows = at > last + 1;
    last = at;
    return [{ text: line, share: matches[at] ? 1 : 0, follows }];
  });
}

function withoutDrawing(line: string): string {
  return line.replace(DRAWN, " ").replace(/\s+/g, " ").trim();
}

/** Returns the texts and numbers of JSON, a line for each, with their names; another text with its escaped line breaks as line breaks. */
function withoutJson(text: string): string {
  const trimmed = text.trim();
  if (!/^[{[]/.test(trimmed)) return text;
  try {
    return leavesOf(JSON.parse(trimmed)).join("\n");
  } catch {
    return text.replaceAll("\\n", "\n").replaceAll('\\"', '"');
  }
}

function leavesOf(value: unknown, name = ""): string[] {
  if (typeof value === "object" && value !== null) {
    const isList = Array.isArray(value);
    return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, isList ? name : key));
  }
  if (value === null || value === "") return [];
  return [name === "" || String(value).includes("\n") ? String(value) : `${name}: ${value}`];
}

/** Returns the first and the last of the units that have room in a passage and most of the query's words, each counted once. */
function bestOf(units: readonly Unit[], weights: ReadonlyMap<string, number>): { from: number; to: number } {
  const stems = units.map(({ text }) => [...new Set(stemsIn(text))].filter((stem) => weights.has(stem)));
  let best = { from: 0, to: lastFrom(units, 0), worth: 0 };
  for (const [from] of units.entries()) {
    if (stems[from]!.length === 0) continue;
    const to = lastFrom(units, from);
    const seen = new Set<string>();
    let [worth, chars] = [0, 0];
    for (let at = from; at <= to; at++) {
      const share = units[at]!.share * (chars < FIRST_CHARS ? 1 : LATER_SHARE);
      for (const stem of stems[at]!) {
        if (!seen.has(stem)) worth += share * weights.get(stem)!;
        seen.add(stem);
      }
      chars += units[at]!.text.length;
    }
    if (worth > best.worth) best = { from, to, worth };
  }
  const before = units[best.from - 1];
  const isCode = units[best.from]?.share === KINDS.code;
  if (!isCode || before?.share !== KINDS.prose) return best;
  return { from: best.from - 1, to: lastFrom(units, best.from - 1) };
}

/** Returns the last unit that has room in a passage that begins with this one. */
function lastFrom(units: readonly Unit[], from: number): number {
  let [to, chars] = [from, units[from]?.text.length ?? 0];
  while (to + 1 < units.length && chars + units[to + 1]!.text.length < SNIPPET_CHARS) {
    to += 1;
    chars += units[to]!.text.length + 1;
  }
  return to;
}

function stemsIn(text: string): string[] {
  return searchWords(text).map(searchStem);
}
