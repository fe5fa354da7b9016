/** A run of characters that may be a name. Scripts that write no spaces between words are left out. */
const TOKEN =
  /(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}])[\p{L}\p{M}\p{N}_$@#~./\\:-]|(?<=\d),(?=\d{3}))+/gu;
const LEADING = /^(?!--\p{L})[:#~-]+|^\.(?![\w/.])/u;
const TRAILING = /(?:[.:/\\~#-]|[’']s)+$/;
const ABBREVIATION = /^(?:\p{L}\.)+\p{L}?$/u;

/** Matches digits, `_`, `$`, `\\`, camel case, inner dots, rooted or long paths, flags, addresses, and five or more capitals. */
const NAME =
  /\p{N}|[_$\\]|\p{Ll}\p{Lu}|[\p{L}\p{N}]\.[\p{L}\p{N}]|^\.{0,2}\/\S|\/.*\/|^--\p{L}|@\S|[\p{L}\p{N}]:[\p{L}\p{N}]|^\p{Lu}{5,}$/u;

/** A number with a unit: `1,000`, `500ms`, `2nd`, `3-hour`. Only the digits are checked. */
const FIGURE = /^(\d+(?:[.,]\d+)*)(?:\p{L}{1,3}|-\p{L}[\p{L}-]*)?$/u;
const RANGE = /^(\d+(?:\.\d+)?)[-–](\d+(?:\.\d+)?)$/;

/**
 * Returns the names in a statement that a model must not invent: identifiers, paths, versions, flags and numbers, each once, in
 * order. Names are recognized by their shape. `JavaScript` is a name; plain words, and two words joined by a slash or hyphen,
 * are not.
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

export function isShortFigure(name: string): boolean {
  return (FIGURE.exec(name)?.[1]?.length ?? Number.POSITIVE_INFINITY) <= 2;
}

/** Returns a pattern that finds a name, but not inside a longer one. The thousands separators of a number are optional. */
export function patternOf(name: string, flags: "u" | "iu"): RegExp {
  const figure = FIGURE.exec(name)?.[1];
  if (figure === undefined) return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped(name)}(?![\\p{L}\\p{N}_])`, flags);
  const digits = escaped(figure.replace(/,(?=\d{3})/g, "")).replace(/(?<=\d)(?=(?:\d{3})+(?!\d))/g, ",?");
  // `500` matches `500ms`, but not `v500`, `1500`, `1,500` or `500.1`.
  return new RegExp(`(?<![\\p{L}\\p{N}_]|\\d[.,])${digits}(?!\\d|[.,]\\d)`, flags);
}

/** Returns a lower-case string that occurs in every text with the name. Searching for this string first saves time. */
export function hintOf(name: string): string {
  const figure = FIGURE.exec(name)?.[1];
  return figure === undefined ? name.toLowerCase() : figure.split(".")[0]!.replaceAll(",", "").slice(-3);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
