import { parseAst } from "rolldown/parseAst";

const LINE_CHARS_MAX = 160;

/** A line break before a node that follows one of these characters changes nothing. */
const BREAK_AFTER = new Set([",", ";", "{", "(", "["]);

/** Breaks the lines of minified code. An uncaught error prints the line it came from, which must not be a whole file. */
export function breakLines(code: string): string {
  const lines: string[] = [];
  let lineStart = 0;
  let lastBreak = 0;
  for (const start of [...startsOf(parseAst(code))].sort((left, right) => left - right)) {
    if (!BREAK_AFTER.has(code[start - 1]!)) continue;
    if (start - lineStart > LINE_CHARS_MAX && lastBreak > lineStart) {
      lines.push(code.slice(lineStart, lastBreak));
      lineStart = lastBreak;
    }
    lastBreak = start;
  }
  return [...lines, code.slice(lineStart)].join("\n");
}

/** Yields the index at which each node of a syntax tree starts. A part of a template follows none of the characters. */
function* startsOf(node: unknown): Generator<number> {
  if (typeof node !== "object" || node === null) return;
  if ("start" in node && typeof node.start === "number") yield node.start;
  for (const child of Object.values(node)) yield* startsOf(child);
}
