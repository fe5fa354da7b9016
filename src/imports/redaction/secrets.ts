import { once } from "../../core/once.ts";
import { MarkerSearch } from "./marker-search.ts";
import { SECRET_RULES, type SecretRule } from "./secret-rules.ts";

export interface Secret {
  kind: string;
  start: number;
  end: number;
}

/** Words of documentation and tests. A match that contains one is not a secret. */
const PLACEHOLDER =
  /example|placeholder|redacted|your[_-]|changeme|dummy|xxxx|\.\.\.|^(?:password|secret|passwd|postgres|mysql|admin)\d*$/i;

/** A value that a program gives, not a person: a name, a call, a path, a number, or words of plain language. */
const NO_VALUE =
  /^(?:[a-z][a-zA-Z]*|[A-Z][a-z]+(?:[A-Z][a-z]+)*|[A-Z]+(?:_[A-Z]+)*|[a-z]+(?:[_-][a-z]+)+|[a-z]\w*(?:\.\w+)+|[~.]?\/.*|[\d.,:]+|\*+|•+)$/;

/** These are in many texts without a secret, so that more of the secret is looked for. */
const COMMON_MARKERS = [
  ..."SK . = assw ecret oken key Key KEY assphrase -Key -KEY -key -Token -token".split(" "),
  "://",
];

/** Finds the signs of a secret. Almost every text has none, so most texts are searched only once. */
const ANY_MARKER = once(() => {
  const words = (list: string, follows?: RegExp) => list.split(" ").map((literal) => ({ literal, follows }));
  const markers = SECRET_RULES.flatMap((rule) => rule.markers).filter((marker) => !COMMON_MARKERS.includes(marker));
  return new MarkerSearch([
    ...markers.map((literal) => ({ literal })),
    { literal: "SK", follows: /[0-9a-f]{32}/y },
    { literal: "://", follows: /[^\s:/@]{0,80}:[^\s:/@]{6,200}@/y },
    // An assignment to a name in capitals, a value in quotes after a name in quotes, and the three parts of a token.
    ...words("PASSWORD= PASSWD= PASSPHRASE= SECRET= TOKEN= KEY= CREDENTIAL= CREDENTIALS="),
    ...words("assw ecret oken key Key KEY assphrase", /[a-zA-Z]{0,8}\\{0,3}["']\s{0,5}:/y),
    ...words("M N O", /[A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27}/y),
    ...words("x- X-", /[A-Za-z-]{0,60}(?:[kK]ey|KEY|[tT]oken)/y),
  ]);
});

const ALL_MARKERS = once(
  () => new MarkerSearch(SECRET_RULES.flatMap(({ markers }) => markers.map((literal) => ({ literal })))),
);

/** Finds the secrets in a text, in order. They do not overlap. */
export function secretsIn(text: string): Secret[] {
  if (!ANY_MARKER().isIn(text)) return [];
  const candidates: Secret[] = [];
  const found = ALL_MARKERS().literalsIn(text);
  for (const rule of SECRET_RULES) {
    if (!rule.markers.some((marker) => found.has(marker))) continue;
    for (const match of text.matchAll(rule.pattern)) {
      const [start, end] = match.indices![1] ?? match.indices![0]!;
      if (isSecret(text.slice(start, end), rule)) candidates.push({ kind: rule.kind, start, end });
    }
  }
  return united(candidates.sort((a, b) => a.start - b.start));
}

/** Unites secrets that overlap, under the kind of the first. */
function united(candidates: readonly Secret[]): Secret[] {
  const found: Secret[] = [];
  for (const candidate of candidates) {
    const last = found.at(-1);
    if (last === undefined || last.end <= candidate.start) found.push(candidate);
    else last.end = Math.max(last.end, candidate.end);
  }
  return found;
}

function isSecret(text: string, { entropyMin, isValue }: SecretRule): boolean {
  if (isValue && NO_VALUE.test(text)) return false;
  return entropyMin === 0 || (!PLACEHOLDER.test(text) && entropyOf(text) >= entropyMin);
}

/** Returns the entropy of a text, in bits per character. */
function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
