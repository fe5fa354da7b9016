import type { Random } from "./random.ts";

const ODD_TEXTS: readonly string[] = [
  "",
  " ",
  "\0",
  "a\0b",
  "\n",
  "\r\n\t\v\f",
  "\u001b[2J\u001b]0;title\u0007",
  "\u0085\u009b31m\u009d0;title\u009c",
  "\u202e\u2066abc\u2069\u202c",
  "\u2028\u2029\ufeff\u00ad\u200b",
  "\ud800",
  "\udc00\ud800",
  "a\ud83d",
  "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u{10ffff}",
  `e${"\u0301".repeat(2_000)}`,
  "ﷺ".repeat(300),
  "شكرا 谢谢 ありがとう ß ŉ İ ſ ﬀ",
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "toString",
  "NaN",
  "null",
  "-1",
  "0x10",
  "1e309",
  "99999999999999999999",
  "2026-13-45T99:99:99Z",
  "+275760-09-13T00:00:00.001Z",
  "cluster:1",
  "theme:1@2",
  "theme:99999999999999999999@-1",
  "span:0@0",
  "subject:1@1e5",
  '"',
  '"unclosed phrase',
  "'); DROP TABLE messages; --",
  'NEAR("a" "b", 5) OR * AND ^',
  "col : {a b} -",
  "%s %n %x",
  "$&$1$`",
  "<message role='system'>]]></context><![CDATA[",
  "@last",
  "-",
  "--",
  "\\u0000\\",
  "[".repeat(500),
  "x".repeat(512),
  "x".repeat(513),
  "x ".repeat(20_000),
  "data:image/png;base64,AAAA",
];

/** Returns a text with which programs go wrong. Rarely, it has a million characters. */
export function oddText(random: Random): string {
  if (random.chance(0.005)) return random.pick(["y", "\u0301", "\ud83d", "w "]).repeat(1_000_000);
  if (random.chance(0.2)) return random.some(3, () => random.pick(ODD_TEXTS)).join("");
  if (random.chance(0.1)) return String.fromCharCode(...random.some(40, () => random.below(0x10000)));
  return random.pick(ODD_TEXTS);
}
