import type { JsonValue } from "../core/message.ts";
import { isObject, type JsonObject } from "./lines.ts";

/** Looks at values of files that nobody promised anything about: what is not of the wanted type counts as absent. */

export function stringOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Unix milliseconds of a time as text or number; undefined for what is no time. */
export function millisecondsOf(value: JsonValue | undefined): number | undefined {
  const time = typeof value === "string" ? Date.parse(value) : typeof value === "number" ? value : Number.NaN;
  return Number.isSafeInteger(Math.trunc(time)) ? Math.trunc(time) : undefined;
}

export function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** The fields that say something: neither null nor an empty list or object. */
export function saidOf(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isNothing(value)));
}

function isNothing(value: JsonValue | undefined): boolean {
  if (value === null || value === undefined) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** The name of the folder a session ran in: what people call the project, on any machine it is checked out on. */
export function projectOf(folder: string): string {
  return folder.split(/[\\/]/).filter(Boolean).at(-1) ?? folder;
}
