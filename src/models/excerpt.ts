/** The default length of an excerpt, in UTF-16 units. */
const CHARS_MAX = 8_000;
/** The share of an excerpt that the beginning of the text gets. */
const HEAD_SHARE = 3 / 4;

/** Returns the beginning and the end of a long text, with `…` at both cuts. */
export function excerpt(text: string, charsMax = CHARS_MAX): string {
  if (text.length <= charsMax) return text;
  const headChars = Math.ceil(charsMax * HEAD_SHARE);
  const head = text.slice(0, headChars).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(text.length - (charsMax - headChars)).replace(/^[\udc00-\udfff]/, "");
  return `${head}…\n…${tail}`;
}
