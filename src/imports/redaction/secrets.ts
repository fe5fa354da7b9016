import { once } from "../../core/once.ts";
import { type Marker, MarkerSearch } from "./marker-search.ts";
import { SECRET_RULES, type SecretRule } from "./secret-rules.ts";
import { VALUE_RULES } from "./value-rules.ts";

export interface Secret {
  kind: string;
  start: number;
  end: number;
}

const RULES: readonly SecretRule[] = [...SECRET_RULES, ...VALUE_RULES];

/** Begins a color of a terminal, as it is or as JSON and programs write it. */
const COLOR_MARKERS: readonly Marker[] = ["\x1b[", "\\u001b[", "\\u001B[", "\\x1b[", "\\x1B[", "\\033[", "\\e["].map(
  (literal) => ({ literal }),
);
const COLOR = /(?:\x1b|\\(?:u001b|x1b|033|e))\[[\d;]{0,20}[mK]/gi;

/** Finds the signs of a secret. Almost every text has none. */
const MARKERS = once(() => new MarkerSearch([...RULES.flatMap(({ markers }) => markers), ...COLOR_MARKERS]));

/** Finds the secrets in a text, in order. They do not overlap. */
export function secretsIn(text: string): Secret[] {
  const found = MARKERS().markersIn(text);
  if (found.size === 0) return [];
  const secrets = marked(text, found);
  if (COLOR_MARKERS.some((marker) => found.has(marker))) secrets.push(...coloredSecrets(text));
  return united(secrets.sort((a, b) => a.start - b.start));
}

function marked(text: string, found: ReadonlySet<Marker>): Secret[] {
  const secrets: Secret[] = [];
  for (const { kind, markers, pattern, accepts } of RULES) {
    if (!markers.some((marker) => found.has(marker))) continue;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const [start, end] = match.indices![1] ?? match.indices![0]!;
      if (accepts(text.slice(start, end), match, text)) secrets.push({ kind, start, end });
      // What was taken for a value may be the name of another one.
      else if (start > match.index) pattern.lastIndex = start;
    }
  }
  return secrets;
}

/** Finds secrets whose parts have different colors. */
function coloredSecrets(text: string): Secret[] {
  let plain = "";
  let end = 0;
  /** Where the pieces between colors begin, in the plain text and in the text. */
  const pieces: { plain: number; text: number }[] = [];
  const add = (to: number): void => {
    pieces.push({ plain: plain.length, text: end });
    plain += text.slice(end, to);
  };
  for (const { 0: color, index } of text.matchAll(COLOR)) {
    if (index > end) add(index);
    end = index + color.length;
  }
  add(text.length);
  const inText = (index: number): number => {
    let low = 0;
    for (let high = pieces.length; high - low > 1; ) {
      const middle = (low + high) >> 1;
      if (pieces[middle]!.plain <= index) low = middle;
      else high = middle;
    }
    return pieces[low]!.text + index - pieces[low]!.plain;
  };
  return marked(plain, MARKERS().markersIn(plain)).map(({ kind, start, end }) => ({
    kind,
    start: inText(start),
    end: inText(end - 1) + 1,
  }));
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
