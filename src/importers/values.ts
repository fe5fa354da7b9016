import { hash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { TIME_MS_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import { isObject, type JsonObject } from "./lines.ts";

// These functions read values of unknown type. A value of the wrong type counts as absent.

export function stringOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export function booleanOf(value: JsonValue | undefined): boolean | undefined {
  return typeof value === "boolean" ? value : undefined;
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Returns the items of a list, or a value that is none as the only item. Null and undefined give none. */
export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
}

/** Returns Unix milliseconds. A time that `Date` cannot hold counts as absent. */
export function millisecondsOf(value: unknown): number | undefined {
  const time =
    typeof value === "string" ? Date.parse(value) : Math.trunc(typeof value === "number" ? value : Number.NaN);
  return Math.abs(time) <= TIME_MS_MAX ? time : undefined;
}

/** Returns the fields that have a value. Null, an empty list and an empty object count as no value. */
export function saidOf(object: Record<string, JsonValue | undefined>): JsonObject {
  const said = Object.entries(object).filter(([, value]) => !isNothing(value));
  return Object.fromEntries(said) as JsonObject;
}

function isNothing(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Returns an id of 32 hex digits for a message that has none. Equal content gives equal ids. */
export function derivedId(...content: unknown[]): string {
  return hash("sha256", JSON.stringify(content)).slice(0, 32);
}

const contentIds = new WeakMap<object, string>();

/** Returns an id of a content. Several rules ask for that of a line, and reading all of it takes long. */
export function contentId(content: JsonValue): string {
  if (typeof content !== "object" || content === null) return derivedId(content);
  const id = contentIds.get(content) ?? derivedId(content);
  contentIds.set(content, id);
  return id;
}

/** Returns the fields whose JSON has at most `charsMax` UTF-16 units. Long ones repeat for display what is said elsewhere. */
export function shortFieldsOf(object: JsonObject, charsMax = 300): JsonObject {
  const isShort = (value: JsonValue): boolean =>
    !(typeof value === "string" && value.length > charsMax) && JSON.stringify(value).length <= charsMax;
  return Object.fromEntries(Object.entries(object).filter(([, value]) => isShort(value)));
}

/** Returns the path that is given as a path or as the address of a file, which may be on another machine. */
export function pathOfAddress(given: string | undefined): string | undefined {
  if (given === undefined || !/^(?:file|vscode-remote):\/\//.test(given)) return given;
  try {
    const address = new URL(given);
    return address.protocol === "file:" ? fileURLToPath(address) : decodeURIComponent(address.pathname);
  } catch {
    return undefined;
  }
}
