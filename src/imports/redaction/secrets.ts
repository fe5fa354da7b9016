import { SECRET_RULES, type SecretRule } from "./secret-rules.ts";

export interface Secret {
  kind: string;
  start: number;
  end: number;
}

/** Words of documentation and tests. A match that contains one is not a secret. */
const PLACEHOLDER =
  /example|placeholder|redacted|your[_-]|changeme|dummy|xxxx|\.\.\.|^(?:password|secret|passwd|postgres|mysql|admin)\d*$/i;

/**
 * Matches the markers of all rules. Almost every text has none, so it is searched only once. `://` is common, so a URL counts only
 * if it may hold a password.
 */
const ANY_MARKER = new RegExp(
  [
    ...SECRET_RULES.flatMap(({ markers }) => markers)
      .filter((marker) => marker !== "://" && marker !== "SK")
      .map(escaped),
    "SK[0-9a-f]{32}",
    "://[^\\s:/@]{0,80}:[^\\s:/@]{6,200}@",
  ].join("|"),
);

function escaped(literal: string): string {
  return literal.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}

/** Finds the secrets in a text, in order. They do not overlap. */
export function secretsIn(text: string): Secret[] {
  if (!ANY_MARKER.test(text)) return [];
  const candidates: Secret[] = [];
  for (const rule of SECRET_RULES) {
    if (!rule.markers.some((marker) => text.includes(marker))) continue;
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

function isSecret(text: string, { entropyMin }: SecretRule): boolean {
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
