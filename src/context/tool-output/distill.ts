import { withoutBytes } from "../../core/text.ts";
import { distillJson } from "./distill-json.ts";
import { distillLines } from "./distill-lines.ts";
import { shorten } from "./shorten.ts";

/** If the note leaves fewer characters, the text is cut in the middle, because there is no room to choose lines. */
const ROOM_MIN = 40;

/**
 * Shortens the output of a tool and keeps the parts that matter. JSON is cut along its structure (`distillJson`), other text
 * line by line (`distillLines`). Base64 is replaced by its size. A marker at each gap says how much is left out, and the last
 * line says how to read the whole text:
 *
 *     [shortened from 310,482 characters, expand message 12]
 *
 * The time is linear in the length of the text.
 *
 * @param charsMax  Most UTF-16 units of the result. A shorter text is returned unchanged.
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
