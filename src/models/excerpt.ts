/** Characters read of one source, if not fewer. */
const CHARS_MAX = 8_000;
/** Of which are its beginning; the rest is its end. */
const HEAD_SHARE = 3 / 4;

/** Beginning and end of a text, marked where they are cut, so that no half sentence passes for a whole one. */
export function excerpt(text: string, charsMax = CHARS_MAX): string {
  if (text.length <= charsMax) return text;
  const headChars = Math.ceil(charsMax * HEAD_SHARE);
  const head = text.slice(0, headChars).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(text.length - (charsMax - headChars)).replace(/^[\udc00-\udfff]/, "");
  return `${head}…\n…${tail}`;
}
