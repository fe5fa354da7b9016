import { hash } from "node:crypto";
import type { Part, Role } from "./message.ts";

/** With 16 bytes, two messages of a store never have the same digest by chance. */
const DIGEST_BYTES = 16;

/** Returns a digest of a message's role, name and parts. Times, ids and metadata do not change it. */
export function digestOf(message: { role: Role; name?: string | undefined; parts: readonly Part[] }): Buffer {
  const content = canonicalJson([message.role, message.name ?? null, message.parts]);
  return hash("sha256", content, "buffer").subarray(0, DIGEST_BYTES);
}

/** Sorts keys, because hosts may order the keys of an object differently each time. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    let members = "";
    for (const key of Object.keys(value).sort()) {
      const item = (value as Record<string, unknown>)[key];
      if (item !== undefined) members += `${members && ","}${JSON.stringify(key)}:${canonicalJson(item)}`;
    }
    return `{${members}}`;
  }
  return JSON.stringify(value);
}
