/** From so many characters on, a run of base64's letters is bytes. Hashes and signatures are shorter. */
const BASE64_CHARS_MIN = 256;

// It starts once for each run: otherwise one that is too short costs its square. And it stops at the least length, since a
// greedy match of megabytes overflows the stack of the matcher.
const RUN_START = new RegExp(`(?<![\\w+/-])[\\w+/-]{${BASE64_CHARS_MIN}}`, "g");
const URL_START = /data:([\w.+-]{1,60}\/[\w.+-]{1,60})(?:;[\w=.-]{1,60}){0,4};base64,$/;

/** Characters before a run that can be the beginning of its URL. */
const URL_START_CHARS_MAX = 400;

/**
 * A text in which bytes written as base64, alone or in a `data:` URL, are named with type and size instead:
 * `[image/png, 12,345 bytes]`. The text itself where there are none.
 *
 * A run counts as bytes when it is long and has capitals, small letters and digits near its beginning.
 */
export function withoutBytes(text: string): string {
  if (!hasLongRun(text)) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const { index: start, 0: beginning } of text.matchAll(RUN_START)) {
    if (start < from) continue;
    const before = text.slice(Math.max(from, start - URL_START_CHARS_MAX), start);
    const url = URL_START.exec(before);
    if (url === null && ![/[A-Z]/, /[a-z]/, /\d/].every((kind) => kind.test(beginning))) continue;
    const end = runEnd(text, start + BASE64_CHARS_MIN);
    const size = byteLengthOf(text.slice(start, end)).toLocaleString("en-US");
    pieces.push(text.slice(from, start - (url?.[0].length ?? 0)), `[${url?.[1] ?? "base64"}, ${size} bytes]`);
    from = end;
  }
  return from === 0 ? text : pieces.join("") + text.slice(from);
}

/** Looks at one character in so many as a run must have: most texts are told in a fraction of what the expression takes. */
function hasLongRun(text: string): boolean {
  for (let at = BASE64_CHARS_MIN - 1; at < text.length; at += BASE64_CHARS_MIN) {
    if (!isOfBase64(text.charCodeAt(at))) continue;
    let from = at - 1;
    while (from >= 0 && at - from < BASE64_CHARS_MIN && isOfBase64(text.charCodeAt(from))) from--;
    let end = at + 1;
    while (end < text.length && end - from <= BASE64_CHARS_MIN && isOfBase64(text.charCodeAt(end))) end++;
    if (end - from - 1 >= BASE64_CHARS_MIN) return true;
  }
  return false;
}

/** Letters without accents, digits, `_`, `+`, `/` and `-`. */
function isOfBase64(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 47 && code <= 57) ||
    code === 95 ||
    code === 43 ||
    code === 45
  );
}

function runEnd(text: string, from: number): number {
  const afterLetters = /[^\w+/-]/g;
  afterLetters.lastIndex = from;
  let end = afterLetters.exec(text)?.index ?? text.length;
  while (text[end] === "=") end++;
  return end;
}

/** Bytes that a base64 text stands for. Not by a regular expression: `/=+$/` takes the square of a run of `=` inside. */
export function byteLengthOf(base64: string): number {
  let length = base64.length;
  while (length > 0 && base64[length - 1] === "=") length--;
  return Math.floor((length * 3) / 4);
}
