import { oneLine } from "./lines.ts";

/** A sentence or line, and the kind of block it comes from. */
export interface Sentence {
  /** One line without its bullet, quote or heading mark. */
  text: string;
  kind: "prose" | "heading" | "row" | "quote" | "code";
}

/** A shorter sentence is joined with a neighbor, because "No." alone says nothing. */
const SHORT_CHARS = 40;
const JOINED_CHARS_MAX = 200;
/** A longer line is joined with the next line if that starts in lower case, because an editor wrapped it. */
const WRAPPED_CHARS_MIN = 50;

const FENCE = /^\s*(?:```|~~~)/;
const BULLET = /^\s*(?:[-*+•‣◦–]|\(?\d{1,3}[.)]|\[[ xX]\])\s+/;
const HEADING = /^\s*#{1,6}\s+/;
const QUOTE = /^\s*>\s?/;
const ROW = /^\s*\|.*\|\s*$/;
/** A line of one or two words above a list names what the list has. */
const LABEL = /^\S{1,24}(?: \S{1,12})?(?<![.!?。！？:：…,;])$/u;
const RULE = /^[\s|:=_*#~+-]*$/;
const SENTENCE_END =
  /(?<=[.!?…]["'”’)\]*_`]{0,3})(?<!\b(?:e\.g|i\.e|vs|cf|al|Dr|Mr|Ms|Mrs)\.)\s+(?=["'“‘([*_]{0,3}(?:[\p{Lu}\p{Lt}\p{Lo}\p{N}]|`))|(?<=[。！？])/u;

/**
 * Splits text with paragraphs, lists, tables and fenced code into sentences. Each fenced line is one item of kind `code`. Short
 * neighbors in a paragraph stay together, and hard-wrapped lines are joined.
 */
export function sentencesOf(text: string): Sentence[] {
  const found: Sentence[] = [];
  let fenced = false;
  let open: string | undefined; // a paragraph or list item that the next line may continue

  const close = () => {
    if (open !== undefined) for (const sentence of splitProse(open)) found.push({ text: sentence, kind: "prose" });
    open = undefined;
  };
  const push = (kind: Sentence["kind"], line: string) => {
    close();
    const single = oneLine(line);
    if (single !== "") found.push({ text: single, kind });
  };

  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    if (FENCE.test(line)) {
      close();
      fenced = !fenced;
    } else if (fenced) push("code", line);
    else if (RULE.test(line)) {
      close();
      if (isTableRule(lines, index)) found.at(-1)!.kind = "heading"; // the row above it names the columns
    } else if (ROW.test(line)) push("row", line);
    else if (HEADING.test(line)) push("heading", line.replace(HEADING, ""));
    else if (QUOTE.test(line)) push("quote", line.replace(QUOTE, ""));
    else if (isLabel(line, lines[index + 1])) push("heading", line.replace(BULLET, ""));
    else if (BULLET.test(line)) {
      close();
      open = line.replace(BULLET, "");
    } else if (open !== undefined && isWrapped(open, line)) open += ` ${line}`;
    else {
      close();
      open = line;
    }
  }
  close();
  return found;
}

/** Returns true for the line below the first row of a table. */
function isTableRule(lines: readonly string[], index: number): boolean {
  const isRow = (at: number): boolean => ROW.test(lines[at] ?? "");
  return isRow(index) && isRow(index - 1) && !isRow(index - 2) && !RULE.test(lines[index - 1]!);
}

/** Returns true for a short line without an end mark above a list, or above a list within its own. */
function isLabel(line: string, next = ""): boolean {
  if (!BULLET.test(next) || !LABEL.test(line.replace(BULLET, "").trim())) return false;
  return !BULLET.test(line) || indentOf(next) > indentOf(line);
}

function indentOf(line: string): number {
  return line.search(/\S/);
}

function isWrapped(above: string, line: string): boolean {
  return above.length >= WRAPPED_CHARS_MIN && !/[.:;!?。]\s*$/.test(above) && /^\s*\p{Ll}/u.test(line);
}

function splitProse(paragraph: string): string[] {
  const joined: string[] = [];
  for (const sentence of oneLine(paragraph).split(SENTENCE_END)) {
    if (sentence === "") continue;
    const last = joined.at(-1);
    const short = last !== undefined && Math.min(last.length, sentence.length) <= SHORT_CHARS;
    if (short && last.length + sentence.length < JOINED_CHARS_MAX) {
      const gap = /[。！？]$/.test(last) ? "" : " ";
      joined[joined.length - 1] = `${last}${gap}${sentence}`;
    } else joined.push(sentence);
  }
  return joined;
}
