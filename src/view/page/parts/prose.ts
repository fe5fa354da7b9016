/** Reading the marks of a longer text takes too long. */
const MARKED_CHARS_MAX = 60_000;
/** A line that is longer is no prose. */
const LINE_CHARS_MAX = 5_000;
/** Marks of quotes and lists, one within the other, that fill the stack when they are many. */
const DEEP = /^[ \t]*(?:(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])[ \t]*){40}/m;

/** Returns true for a text whose Markdown can be read and drawn. Other texts are shown as they are. */
export function isProse(text: string): boolean {
  return text.length <= MARKED_CHARS_MAX && !hasLongLine(text) && !DEEP.test(text);
}

function hasLongLine(text: string): boolean {
  let start = 0;
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
    if (end - start > LINE_CHARS_MAX) return true;
    start = end + 1;
  }
  return text.length - start > LINE_CHARS_MAX;
}
