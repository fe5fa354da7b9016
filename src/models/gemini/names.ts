/** Runs without white space, quotes, commas and brackets, and without the scripts that put no spaces between words. */
const TOKEN =
  /(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}])[\p{L}\p{M}\p{N}_$@#~./\\:-]|(?<=\d),(?=\d{3}))+/gu;
const LEADING = /^(?!--\p{L})[:#~-]+|^\.(?![\w/.])/u;
const TRAILING = /(?:[.:/\\~#-]|[’']s)+$/;
const ABBREVIATION = /^(?:\p{L}\.)+\p{L}?$/u;

/** Digits, underscores, dollars, backslashes; humps; dots inside; a rooted or long path; a flag; an address; long capitals. */
const NAME =
  /\p{N}|[_$\\]|\p{Ll}\p{Lu}|[\p{L}\p{N}]\.[\p{L}\p{N}]|^\.{0,2}\/\S|\/.*\/|^--\p{L}|@\S|[\p{L}\p{N}]:[\p{L}\p{N}]|^\p{Lu}{5,}$/u;

/** A figure with what is usual around it: `1,000`, `500ms`, `2nd`, `3-hour`. Its digits are what has to be true. */
const FIGURE = /^(\d+(?:[.,]\d+)*)(?:\p{L}{1,3}|-\p{L}[\p{L}-]*)?$/u;
const RANGE = /^(\d+(?:\.\d+)?)[-–](\d+(?:\.\d+)?)$/;

/**
 * What a statement names and must not invent: identifiers, paths, versions, flags, numbers; as written, each once, in order.
 *
 * By shape alone: plain words, and two of them with a slash or a hyphen between, are language and no names. What a name is
 * called is told from what it is by no model; a product such as `JavaScript` is checked like an identifier.
 */
export function namesIn(text: string): string[] {
  const found = new Set<string>();
  for (const [run] of text.matchAll(TOKEN)) {
    const token = run.replace(LEADING, "").replace(TRAILING, "");
    if (!NAME.test(token) || ABBREVIATION.test(token)) continue;
    const range = RANGE.exec(token);
    if (range === null) found.add(token);
    else for (const end of range.slice(1)) found.add(end);
  }
  return [...found];
}

/** Whether a name is a number of one or two digits, whatever its unit. */
export function isShortFigure(name: string): boolean {
  return (FIGURE.exec(name)?.[1]?.length ?? Number.POSITIVE_INFINITY) <= 2;
}

/** Where a text names a name: by itself, not as a piece of a longer one. A figure may be written with or without its commas. */
export function patternOf(name: string, flags: "u" | "iu"): RegExp {
  const figure = FIGURE.exec(name)?.[1];
  if (figure === undefined) return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped(name)}(?![\\p{L}\\p{N}_])`, flags);
  const digits = escaped(figure.replace(/,(?=\d{3})/g, "")).replace(/(?<=\d)(?=(?:\d{3})+(?!\d))/g, ",?");
  // `500` is named by `500ms` and not by `v500`, `1500`, `1,500` or `500.1`.
  return new RegExp(`(?<![\\p{L}\\p{N}_]|\\d[.,])${digits}(?!\\d|[.,]\\d)`, flags);
}

/** What every text has that names it, in lower case: quick to look for in the many that do not. */
export function hintOf(name: string): string {
  const figure = FIGURE.exec(name)?.[1];
  return figure === undefined ? name.toLowerCase() : figure.split(".")[0]!.replaceAll(",", "").slice(-3);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
