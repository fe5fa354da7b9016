import { hash } from "node:crypto";

const DIGITS = 8;

/** Replaces illegal characters, shortens long ids, and then appends a hash of the id. Equal ids give equal results. */
export function legalId(id: string, illegal: RegExp, charsMax: number): string {
  const cleaned = id.replace(illegal, "_");
  if (cleaned === id && id.length <= charsMax) return id;
  return `${cleaned.slice(0, charsMax - DIGITS - 1)}_${hash("sha256", id, "hex").slice(0, DIGITS)}`;
}
