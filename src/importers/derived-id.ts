import { hash } from "node:crypto";

/** Returns an id for a message that has none: 32 hex digits, the same for equal JSON. */
export function derivedId(...content: unknown[]): string {
  return hash("sha256", JSON.stringify(content)).slice(0, 32);
}
