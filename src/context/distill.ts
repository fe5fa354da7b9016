import { withoutBytes } from "../core/bytes-in-text.ts";
import { distillJson } from "./distill-json.ts";
import { distillLines } from "./distill-lines.ts";
import { shorten } from "./shorten.ts";

/** With fewer characters beside the note there is nothing to choose, and the head says most. */
const ROOM_MIN = 40;

/**
 * Cuts the output of a tool down to what matters: along the structure of JSON, or line by line (`distillJson`,
 * `distillLines`). Base64 is replaced by its size. A marker counts what is left out at each gap, and the last line says how
 * to get it:
 *
 *     [shortened from 310,482 characters, expand message 12]
 *
 * Deterministic, and linear in the text.
 *
 * @param charsMax  Most UTF-16 units of the result. A shorter text comes back as it is.
 * @param source  Names the whole text: `message 12`.
 */
export function distill(text: string, charsMax: number, source: string): string {
  if (text.length <= charsMax) return text;
  const note = `[shortened from ${text.length.toLocaleString("en-US")} characters, expand ${source}]`;
  const room = charsMax - note.length - 1;
  if (room < ROOM_MIN) return shorten(text, charsMax, source);
  return `${distillBody(withoutBytes(text), room)}\n${note}`;
}

function distillBody(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return distillJson(text, charsMax, distillBody) ?? distillLines(text, charsMax);
}
