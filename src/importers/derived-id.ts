import { createHash } from "node:crypto";

/** An external id for what has none in its source: 32 hex digits, the same for equal JSON. Not for keeping secrets. */
export function derivedId(...content: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(content)).digest("hex").slice(0, 32);
}
