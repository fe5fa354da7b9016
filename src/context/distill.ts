import { withoutBytes } from "../core/bytes-in-text.ts";
import { distillJson } from "./distill-json.ts";
import { distillLines } from "./distill-lines.ts";
import { shorten } from "./shorten.ts";

/** Characters beside the note from which there is something to choose. With fewer, the head says most. */
const ROOM_MIN = 40;

/**
 * What a tool said, cut down to what matters of it: along the structure of JSON, else line by line, see `distillJson` and
 * `distillLines`. Bytes that stand in it as base64 become their size. Whatever is left out is counted where it stood, and the
 * last line says how to get it:
 *
 *     [shortened from 310,482 characters, expand message 12]
 *
 * Deterministic, and linear in the text.
 *
 * @param charsMax  Most UTF-16 units that come back, and so most graphemes. A text that has no more comes back as it is.
 * @param source  Names the whole text: `message 12`.
 */
export function distill(text: string, charsMax: number, source: string): string {
  if (text.length <= charsMax) return text;
  const note = `[shortened from ${text.length.toLocaleString("en-US")} characters, expand ${source}]`;
  const room = charsMax - note.length - 1;
  if (room < ROOM_MIN) return shorten(text, charsMax, source);
  return `${distillBody(withoutBytes(text), room)}\n${note}`;
}

/** Without a note on how to get the rest. */
function distillBody(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return distillJson(text, charsMax, distillBody) ?? distillLines(text, charsMax);
}
