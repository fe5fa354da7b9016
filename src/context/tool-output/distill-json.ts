import { sharesOf } from "./shorten.ts";

/** The least room for a value of an object, and for an item of an array. Shorter ones need less. */
const VALUE_CHARS_MIN = 24;
const ITEM_CHARS_MIN = 80;

/** A string with less room becomes `…`. */
const STRING_CHARS_MIN = 16;

const NO_ROOM = '"…"';

/** The deepest level whose values are cut. Deeper values are whole or left out. */
const DEPTH_MAX = 16;

/**
 * Cuts JSON along its structure. The result is JSON: small values and keys stay, and large values share the room. Long
 * arrays and objects keep their first and last children, and a string says how many are left out. Long strings are distilled.
 *
 * @param charsMax  Most UTF-16 units of the result.
 * @returns undefined if the text is not an object or array, or if no part of it fits.
 */
export function distillJson(
  text: string,
  charsMax: number,
  distillText: (text: string, charsMax: number) => string,
): string | undefined {
  const json = compactJson(text);
  if (json === undefined) return undefined;
  const written = write({ start: 0, end: json.length }, charsMax, 0);
  return written === NO_ROOM ? undefined : written;

  function write({ start, end }: Omit<Child, "key">, room: number, depth: number): string {
    if (end - start <= room) return json!.slice(start, end);
    switch (json![start]) {
      case '"':
        return writeString(JSON.parse(json!.slice(start, end)), room);
      case "{":
      case "[": {
        if (depth === DEPTH_MAX) return NO_ROOM;
        const written = writeChildren(childrenOf(json!, start), room, depth);
        return written.length <= room ? written : NO_ROOM;
      }
      default:
        return NO_ROOM; // a number cannot be cut
    }
  }

  function writeString(value: string, room: number): string {
    let charsMax = room - 2;
    for (;;) {
      const written = JSON.stringify(charsMax < STRING_CHARS_MIN ? "…" : distillText(value, charsMax));
      if (written.length <= room || charsMax < STRING_CHARS_MIN) return written;
      charsMax = Math.floor(charsMax * Math.min(0.9, room / written.length)); // JSON writes quotes and line breaks as two characters
    }
  }

  function writeChildren(children: readonly Child[], room: number, depth: number): string {
    const isObject = children[0]!.key !== undefined;
    const [opening, closing] = isObject ? "{}" : "[]";
    const { head, tail } = endsOf(children, room - 2);
    const leftOut = children.length - head.length - tail.length;
    const marker = leftOut === 0 ? "" : isObject ? `"…":"${leftOut} more keys"` : `"… ${leftOut} more items …"`;
    const kept = [...head, ...tail];
    const frame = 2 + (marker === "" ? -1 : marker.length) + kept.reduce((sum, child) => sum + keyChars(child) + 1, 0);
    const shares = sharesOf(
      kept.map(({ start, end }) => end - start),
      room - frame,
    );
    const written = kept.map((child, index) => {
      const value = write(child, shares[index]!, depth + 1);
      return child.key === undefined ? value : `${child.key}:${value}`;
    });
    if (marker !== "") written.splice(head.length, 0, marker);
    return `${opening}${written.join(",")}${closing}`;
  }
}

/** Chooses children from both ends, two to one, while there is room for their cut forms and a marker. */
function endsOf(children: readonly Child[], room: number): { head: Child[]; tail: Child[] } {
  const least = (child: Child) => {
    const charsMin = child.key === undefined ? ITEM_CHARS_MIN : VALUE_CHARS_MIN;
    return keyChars(child) + Math.min(child.end - child.start, charsMin) + 1;
  };
  const total = children.reduce((sum, child) => sum + least(child), 0);
  if (total <= room) return { head: [...children], tail: [] };
  let left = room - `"… ${children.length} more items …",`.length;
  let [headCount, tailCount] = [0, 0];
  while (headCount + tailCount < children.length) {
    const isTail = headCount >= 2 * (tailCount + 1);
    const next = isTail ? children[children.length - 1 - tailCount]! : children[headCount]!;
    left -= least(next);
    if (left < 0) break;
    if (isTail) tailCount++;
    else headCount++;
  }
  return { head: children.slice(0, headCount), tail: children.slice(children.length - tailCount) };
}

function keyChars({ key }: Child): number {
  return key === undefined ? 0 : key.length + 1;
}

/** The range of a value, and its key with quotes. An item of an array has no key. */
interface Child {
  key: string | undefined;
  start: number;
  end: number;
}

/**
 * Removes white space outside strings. Returns undefined unless the text is a JSON object or array. `JSON.stringify` would change
 * long numbers, repeated keys and the order of keys.
 */
function compactJson(text: string): string | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const pieces: string[] = [];
  let from = 0;
  for (let quote = text.indexOf('"'); quote !== -1; quote = text.indexOf('"', from)) {
    const end = stringEnd(text, quote);
    pieces.push(text.slice(from, quote).replace(/\s+/g, ""), text.slice(quote, end));
    from = end;
  }
  pieces.push(text.slice(from).replace(/\s+/g, ""));
  return pieces.join("");
}

function childrenOf(json: string, start: number): Child[] {
  const children: Child[] = [];
  const isObject = json[start] === "{";
  let at = start + 1;
  while (json[at] !== "}" && json[at] !== "]") {
    if (json[at] === ",") at++;
    const keyEnd = isObject ? stringEnd(json, at) : at;
    const key = isObject ? json.slice(at, keyEnd) : undefined;
    const valueStart = isObject ? keyEnd + 1 : at;
    at = valueEnd(json, valueStart);
    children.push({ key, start: valueStart, end: at });
  }
  return children;
}

function valueEnd(json: string, start: number): number {
  let depth = 0;
  for (let at = start; ; at++) {
    switch (json[at]) {
      case '"':
        at = stringEnd(json, at) - 1;
        break;
      case "{":
      case "[":
        depth++;
        break;
      case "}":
      case "]":
        if (depth === 0) return at; // the parent ends after a number or word
        depth--;
        break;
      case ",":
        if (depth === 0) return at;
        continue;
      default:
        continue;
    }
    if (depth === 0) return at + 1;
  }
}

function stringEnd(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); ; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
}
