import { hash } from "node:crypto";

const DIGITS = 8;

/**
 * Returns a legal id unchanged. In any other id, replaces illegal characters, cuts it and appends a hash. Equal ids give equal results.
 *
 * @param illegal  Matches each illegal character, with the flag `g`.
 */
export function legalId(id: string, illegal: RegExp, charsMax: number): string {
  const cleaned = id.replace(illegal, "_");
  if (cleaned === id && id.length <= charsMax) return id;
  return `${cleaned.slice(0, charsMax - DIGITS - 1)}_${hash("sha256", id, "hex").slice(0, DIGITS)}`;
}
