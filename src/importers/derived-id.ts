import { hash } from "node:crypto";

/** An external id for what has none in its source: 32 hex digits, the same for equal JSON. Not for keeping secrets. */
export function derivedId(...content: unknown[]): string {
  return hash("sha256", JSON.stringify(content)).slice(0, 32);
}
