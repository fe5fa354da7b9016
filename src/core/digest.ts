import { hash } from "node:crypto";
import type { Part, Role } from "./message.ts";

/** Bytes of SHA-256 that are kept: enough that no two messages of a store ever meet by chance. */
export const DIGEST_BYTES = 16;

/** What makes two messages the same: who said what. Not when, under which id, or with which metadata. */
export function digestOf(message: { role: Role; name?: string | undefined; parts: readonly Part[] }): Buffer {
  const content = canonicalJson([message.role, message.name ?? null, message.parts]);
  return hash("sha256", content, "buffer").subarray(0, DIGEST_BYTES);
}

/** JSON with sorted keys: a host that rebuilds its objects may order them differently each time. Lone surrogates are escaped. */
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
