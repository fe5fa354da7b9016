/** The least length of a run of base64 characters that counts as bytes. Hashes and signatures are shorter. */
const BASE64_CHARS_MIN = 256;

// Without the lookbehind, matching takes quadratic time. Matching a whole run would overflow the stack, so this matches its start.
const RUN_START = new RegExp(`(?<![\\w+/-])[\\w+/-]{${BASE64_CHARS_MIN}}`, "g");
const URL_START = /data:([\w.+-]{1,60}\/[\w.+-]{1,60})(?:;[\w=.-]{1,60}){0,4};base64,$/;

const URL_START_CHARS_MAX = 400;

/** Replaces base64, alone or in a `data:` URL, by its type and size, as `[image/png, 12,345 bytes]`: long runs that begin as a mix of cases and digits. */
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
    const size = base64ByteLength(text.slice(start, end)).toLocaleString("en-US");
    pieces.push(text.slice(from, start - (url?.[0].length ?? 0)), `[${url?.[1] ?? "base64"}, ${size} bytes]`);
    from = end;
  }
  return from === 0 ? text : pieces.join("") + text.slice(from);
}

/** Looks at every 256th character first, which is much faster than RUN_START for most texts. */
function hasLongRun(text: string): boolean {
  for (let at = BASE64_CHARS_MIN - 1; at < text.length; at += BASE64_CHARS_MIN) {
    if (!isBase64Char(text, at)) continue;
    let from = at - 1;
    while (from >= 0 && at - from < BASE64_CHARS_MIN && isBase64Char(text, from)) from--;
    let end = at + 1;
    while (end < text.length && end - from <= BASE64_CHARS_MIN && isBase64Char(text, end)) end++;
    if (end - from - 1 >= BASE64_CHARS_MIN) return true;
  }
  return false;
}

const IS_BASE64_CHAR = Uint8Array.from({ length: 128 }, (_, code) => Number(/[\w+/-]/.test(String.fromCharCode(code))));

function isBase64Char(text: string, index: number): boolean {
  return IS_BASE64_CHAR[text.charCodeAt(index)] === 1;
}

function runEnd(text: string, from: number): number {
  const afterRun = /[^\w+/-]/g;
  afterRun.lastIndex = from;
  let end = afterRun.exec(text)?.index ?? text.length;
  while (text[end] === "=") end++;
  return end;
}

/** Returns the number of bytes. The loop takes linear time; `/=+$/` would take quadratic time on many `=`. */
export function base64ByteLength(base64: string): number {
  let length = base64.length;
  while (length > 0 && base64[length - 1] === "=") length--;
  return Math.floor((length * 3) / 4);
}
