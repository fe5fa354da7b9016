/** Characters read of one source: its beginning and its end. */
const HEAD_CHARS = 6_000;
const TAIL_CHARS = 2_000;

/** Beginning and end of a text, marked where they are cut, so that no half sentence passes for a whole one. */
export function excerpt(text: string): string {
  if (text.length <= HEAD_CHARS + TAIL_CHARS) return text;
  const head = text.slice(0, HEAD_CHARS).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(-TAIL_CHARS).replace(/^[\udc00-\udfff]/, "");
  return `${head}…\n…${tail}`;
}
