import { JSON_DEPTH_MAX } from "./limits.ts";

/** A value that JSON stores without changing it. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** The beginning of a path that is too deep to be shown whole. */
const PATH_SHOWN_CHARS = 60;

export interface PlainJsonRules {
  /** The characters that all strings and keys together may still have. `plainJson` counts it down. */
  charsLeft: number;
  tooLong: string;
  /** Throws the caller's error for a value that cannot be stored. */
  refuse: (path: string, reason: string) => never;
}

/** Returns a copy of `value`, or refuses the first value in it that JSON would change. */
export function plainJson(value: unknown, path: string, rules: PlainJsonRules, depth = 0): JsonValue {
  if (depth > JSON_DEPTH_MAX) {
    const reason = `nested deeper than ${JSON_DEPTH_MAX} levels, or a value that contains itself`;
    rules.refuse(`${path.slice(0, PATH_SHOWN_CHARS)}…`, reason);
  }
  switch (typeof value) {
    case "string":
      spend(value.length, path, rules);
      return value;
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) rules.refuse(path, `${value} is not a JSON number`);
      return value;
    case "object": {
      if (value === null) return null;
      if (Array.isArray(value)) {
        return Array.from(value, (item, index) => plainJson(item, `${path}[${index}]`, rules, depth + 1));
      }
      const prototype = Object.getPrototypeOf(value);
      if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
        rules.refuse(path, `expected plain JSON, got an instance of ${value.constructor?.name ?? "a class"}`);
      }
      const copy: Record<string, JsonValue> = {};
      for (const [key, item] of Object.entries(value)) {
        if (item === undefined) continue;
        spend(key.length, path, rules);
        setOwn(copy, key, plainJson(item, `${path}.${key}`, rules, depth + 1));
      }
      return copy;
    }
    default:
      return rules.refuse(path, `${typeof value} is not JSON`);
  }
}

const [QUOTE, BACKSLASH, LIST, LIST_END, OBJECT, OBJECT_END] = Buffer.from('"\\[]{}') as unknown as number[];

/** Returns true if lists and objects in a JSON text are nested deeper than `depthMax`. */
export function isNestedDeeper(json: string, depthMax: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < json.length; index++) {
    const code = json.charCodeAt(index);
    if (code === QUOTE) isInString = !isInString;
    else if (isInString) index += code === BACKSLASH ? 1 : 0;
    else if (code === LIST || code === OBJECT) depth += 1;
    else if (code === LIST_END || code === OBJECT_END) depth -= 1;
    if (depth > depthMax) return true;
  }
  return false;
}

/** Sets a field of a copy. `__proto__` from JSON.parse is an own key and must stay one. */
export function setOwn<T>(copy: Record<string, T>, key: string, value: T): void {
  if (key === "__proto__") {
    Object.defineProperty(copy, key, { value, enumerable: true, configurable: true, writable: true });
  } else copy[key] = value;
}

function spend(chars: number, path: string, rules: PlainJsonRules): void {
  rules.charsLeft -= chars;
  if (rules.charsLeft < 0) rules.refuse(path, rules.tooLong);
}
