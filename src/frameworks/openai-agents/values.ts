import { type JsonValue, setOwn } from "../../core/json.ts";

/** A place in a value. */
export type Path = (string | number)[];

/** A value that JSON does not have: where it was, what it is, and its bytes in base64. */
export type OddValue = [path: Path, kind: string, base64?: string];

/** A value as JSON, with `null` in place of the values that JSON does not have. */
export interface JsonForm {
  json: JsonValue;
  odd: OddValue[];
}

const ODD_NUMBERS: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
  "-0": -0,
};

/** @throws {TypeError} for a value that is neither plain data nor a `Uint8Array`. The error does not quote the value. */
export function toJson(value: unknown): JsonForm {
  const odd: OddValue[] = [];
  const convert = (item: unknown, path: Path): JsonValue => {
    const note = (kind: string, base64?: string): null => {
      odd.push(base64 === undefined ? [path, kind] : [path, kind, base64]);
      return null;
    };
    switch (typeof item) {
      case "string":
      case "boolean":
        return item;
      case "undefined":
        return note("undefined");
      case "number": {
        const kind = Object.is(item, -0) ? "-0" : String(item);
        return Object.hasOwn(ODD_NUMBERS, kind) ? note(kind) : item;
      }
      case "object": {
        if (item === null) return null;
        if (item instanceof Uint8Array) return note("bytes", Buffer.from(item).toString("base64"));
        if (Array.isArray(item)) return Array.from(item, (element, index) => convert(element, [...path, index]));
        const prototype = Object.getPrototypeOf(item);
        if (prototype !== Object.prototype && prototype !== null) break;
        const copy: Record<string, JsonValue> = {};
        for (const [key, field] of Object.entries(item)) setOwn(copy, key, convert(field, [...path, key]));
        return copy;
      }
    }
    throw new TypeError("The value is not plain data.");
  };
  return { json: convert(value, []), odd };
}

export function fromJson({ json, odd }: JsonForm): unknown {
  let value: unknown = json;
  for (const [path, kind, base64] of odd) value = setAt(value, path, oddValue(kind, base64));
  return value;
}

function oddValue(kind: string, base64: string | undefined): unknown {
  if (kind === "bytes") return new Uint8Array(Buffer.from(base64 ?? "", "base64"));
  return ODD_NUMBERS[kind];
}

export function getAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, step)) return undefined;
    found = (found as Record<string | number, unknown>)[step];
  }
  return found;
}

/** Returns the value with another one at a place. It changes the value, unless the place is the value itself. */
export function setAt(value: unknown, path: Path, given: unknown): unknown {
  if (path.length === 0) return given;
  const target = getAt(value, path.slice(0, -1));
  if (typeof target === "object" && target !== null) {
    setOwn(target as Record<string, unknown>, String(path.at(-1)), given);
  }
  return value;
}

/** Returns a text that is equal for equal values. The order of fields does not count. */
export function canonicalText(value: unknown): string {
  const { json, odd } = toJson(value);
  const tagged = (item: JsonValue): JsonValue => {
    if (typeof item !== "object" || item === null) return item;
    if (Array.isArray(item)) return ["list", ...item.map(tagged)];
    return [
      "object",
      ...Object.keys(item)
        .sort()
        .flatMap((key) => [key, tagged(item[key]!)]),
    ];
  };
  return JSON.stringify([tagged(json), odd.map((entry) => JSON.stringify(entry)).sort()]);
}
