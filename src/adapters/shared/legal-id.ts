import { hash } from "node:crypto";

const DIGITS = 8;

/** Returns a legal id unchanged, else a cleaned and cut id with a hash. Equal ids give equal results. */
export function legalId(id: string, illegal: RegExp, charsMax: number): string {
  const cleaned = id.replace(illegal, "_");
  if (cleaned === id && id.length <= charsMax) return id;
  return `${cleaned.slice(0, charsMax - DIGITS - 1)}_${hash("sha256", id, "hex").slice(0, DIGITS)}`;
}
