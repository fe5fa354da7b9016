import { ID_CHARS_MAX } from "../core/limits.ts";
import { cutAtGrapheme } from "../core/text.ts";

/** Titles made by a model may hold characters that the store refuses. */
export function titleOf(title: string): string {
  return cleanName(title.replace(/\s+/g, " ")) ?? "untitled";
}

/** Returns a name on one line that the store accepts, or undefined if nothing is left. */
export function cleanName(text: string): string | undefined {
  const line = text
    .toWellFormed()
    .replace(/[\0-\x1f\x7f-\x9f]+/g, " ")
    .trim();
  return cutAtGrapheme(line, ID_CHARS_MAX) || undefined;
}
