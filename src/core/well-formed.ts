import { hash } from "node:crypto";
import { setOwn } from "./json.ts";

const DIGITS = 8;

/**
 * Returns a value without lone surrogates: each becomes U+FFFD, in strings and in keys. A value that has none is returned as it
 * is. Providers refuse a request with a lone surrogate, and so every later request of its conversation.
 *
 * Keys of one object stay distinct, and so do ids, which are the values of keys that end in `id`. Equal ids stay equal.
 */
export function wellFormed<T>(value: T): T {
  return wellFormedValue(value) as T;
}

function wellFormedId(id: string): string {
  if (id.isWellFormed()) return id;
  // JSON writes a lone surrogate as an escape. A hash of the text itself would be that of U+FFFD.
  return `${id.toWellFormed()}_${hash("sha256", JSON.stringify(id), "hex").slice(0, DIGITS)}`;
}

function wellFormedValue(value: unknown): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  return Array.isArray(value) ? wellFormedList(value) : wellFormedFields(value as Record<string, unknown>);
}

function wellFormedList(list: readonly unknown[]): readonly unknown[] {
  let copy: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const item = wellFormedValue(list[index]);
    if (item !== list[index]) copy ??= list.slice();
    if (copy !== undefined) copy[index] = item;
  }
  return copy ?? list;
}

function wellFormedFields(fields: Record<string, unknown>): Record<string, unknown> {
  const keys = Object.keys(fields);
  let copy: Record<string, unknown> | undefined;
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!;
    const value = wellFormedField(key, fields[key]);
    const name = key.isWellFormed() ? key : freeName(key.toWellFormed(), fields, copy);
    if (copy === undefined && (value !== fields[key] || name !== key)) {
      copy = {};
      for (const before of keys.slice(0, index)) setOwn(copy, before, fields[before]);
    }
    if (copy !== undefined) setOwn(copy, name, value);
  }
  return copy ?? fields;
}

function freeName(wanted: string, ...taken: (object | undefined)[]): string {
  let name = wanted;
  while (taken.some((fields) => fields !== undefined && Object.hasOwn(fields, name))) name += "\ufffd";
  return name;
}

function wellFormedField(key: string, value: unknown): unknown {
  return typeof value === "string" && /id$/i.test(key) ? wellFormedId(value) : wellFormedValue(value);
}
