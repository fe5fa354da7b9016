import { hash } from "node:crypto";

/** Hexadecimal digits that tell ids apart which look the same once they are legal. */
const DIGITS = 8;

/**
 * The id itself if a provider takes it, else one that it takes: what is legal of it, and a hash of all of it. The same id
 * gives the same one everywhere, so that calls keep their results, and a context its prefix.
 *
 * @param illegal  One character that is refused; global.
 * @param charsMax  At least 16.
 */
export function legalId(id: string, illegal: RegExp, charsMax: number): string {
  const cleaned = id.replace(illegal, "_");
  if (cleaned === id && id.length <= charsMax) return id;
  return `${cleaned.slice(0, charsMax - DIGITS - 1)}_${hash("sha256", id, "hex").slice(0, DIGITS)}`;
}
