/** A stretch of a line of Markdown, without its marks. */
export interface Span {
  text: string;
  style: "plain" | "strong" | "code";
  /** True for words of a query. */
  isMatch: boolean;
}

type Range = readonly [from: number, to: number];

/** Code, strong text, and the text of a link. Marks with blanks inside them, or without an end, are text. */
const MARKED = /(`+)(?!`)(.+?)(?<!`)\1(?!`)|(\*\*|__)(?=\S)(.+?)(?<=\S)\3|!?\[([^\]]{1,300})\]\([^()\s]*\)/g;

/** Returns a line of Markdown as its stretches. @param marks  Where the words of a query are in the line, in order. */
export function spansOf(line: string, marks: readonly Range[] = []): Span[] {
  return spansIn(line, withoutLoneMark(line), "plain", marks);
}

export function withoutMarkdown(line: string): string {
  return spansOf(line)
    .map(({ text }) => text)
    .join("");
}

/** A snippet may begin or end within strong text, and then has only one of its marks. A pattern such as `src/**` is none. */
function withoutLoneMark(line: string): Range {
  const isPaired = line.split("**").length % 2 === 1;
  if (!isPaired && /[\p{L}\p{N}.,:;!?)"”'’]\*\*$/u.test(line)) return [0, line.length - 2];
  if (!isPaired && /^\*\*[\p{L}\p{N}("“'‘]/u.test(line)) return [2, line.length];
  return [0, line.length];
}

function spansIn(line: string, [start, end]: Range, style: Span["style"], marks: readonly Range[]): Span[] {
  const spans: Span[] = [];
  let at = start;
  const inner = style === "code" ? [] : line.slice(start, end).matchAll(MARKED);
  for (const match of inner) {
    const [whole, ticks = "", code, , strong, link] = match;
    const from = start + match.index;
    const text = code ?? strong ?? link!;
    const textFrom = from + (link === undefined ? (ticks || "**").length : whole.indexOf("[") + 1);
    spans.push(...cutByMarks(line, [at, from], style, marks));
    const inside = code !== undefined ? "code" : strong !== undefined ? "strong" : style;
    spans.push(...spansIn(line, [textFrom, textFrom + text.length], inside, marks));
    at = from + whole.length;
  }
  spans.push(...cutByMarks(line, [at, end], style, marks));
  return spans;
}

function cutByMarks(line: string, [start, end]: Range, style: Span["style"], marks: readonly Range[]): Span[] {
  const spans: Span[] = [];
  const push = (from: number, to: number, isMatch: boolean): void => {
    if (to > from) spans.push({ text: line.slice(from, to), style, isMatch });
  };
  let at = start;
  for (const [from, to] of marks) {
    if (to <= at || from >= end) continue;
    push(at, Math.max(at, from), false);
    push(Math.max(at, from), Math.min(end, to), true);
    at = Math.min(end, to);
  }
  push(at, end, false);
  return spans;
}
