/** A range of a JSON text. */
export interface Span {
  start: number;
  end: number;
}

/** The range of a value, and its key with quotes. An item of an array has no key. */
export interface Child extends Span {
  key: string | undefined;
}

/**
 * Removes the white space between the tokens of a JSON text. Returns undefined if it is not an object or array.
 *
 * It works on the text because parsed values would change long numbers, and the order of keys and repeated keys.
 */
export function compactJson(text: string): string | undefined {
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

/** Returns the children of the object or array at `start` of a compact JSON text. */
export function childrenOf(json: string, start: number): Child[] {
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
        if (depth === 0) return at; // the enclosing object or array ends after a number or word
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

/** Returns the index after the closing quote of the string at `start`. */
function stringEnd(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); ; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
}
