import { displayWidth } from "./display-width.ts";
import { withoutFormats } from "./terminal.ts";

/** Breaks each line of a text between words, so that it fits `width` columns. A longer word stays whole. Styles take no room. */
export function wrapped(text: string, width: number): string {
  return text
    .split("\n")
    .map((line) => (line.length <= width / 2 || shownWidth(line) <= width ? line : wrappedLine(line, width)))
    .join("\n");
}

function wrappedLine(line: string, width: number): string {
  const lines: string[] = [];
  let [current, used] = ["", 0];
  for (const [word] of line.matchAll(/\s*\S+|\s+$/g)) {
    const wide = shownWidth(word);
    if (used > 0 && used + wide > width) {
      lines.push(current);
      current = word.trimStart();
      used = shownWidth(current);
    } else {
      current += word;
      used += wide;
    }
  }
  return [...lines, current].join("\n");
}

function shownWidth(text: string): number {
  return displayWidth(withoutFormats(text));
}
