import { hash } from "node:crypto";

/** Hexadecimal digits of the hash that keeps cleaned ids distinct. */
const DIGITS = 8;

/**
 * Returns the id if a provider takes it, else its legal characters and a hash of all of it. One id always gives the same
 * result, so calls still match their results and a context keeps its prefix.
 */
export function legalId(id: string, illegal: RegExp, charsMax: number): string {
  const cleaned = id.replace(illegal, "_");
  if (cleaned === id && id.length <= charsMax) return id;
  return `${cleaned.slice(0, charsMax - DIGITS - 1)}_${hash("sha256", id, "hex").slice(0, DIGITS)}`;
}
