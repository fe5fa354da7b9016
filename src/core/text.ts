import { byteLengthOf, withoutBytes } from "./bytes-in-text.ts";
import { graphemesIn } from "./graphemes.ts";
import { TEXT_GRAPHEMES_MAX } from "./limits.ts";
import type { JsonValue, Part } from "./message.ts";

/** Of a tool's output, the characters kept from its start and from its end; between them only lines that tell of errors. */
const RESULT_HEAD_CHARS = 1_500;
const RESULT_TAIL_CHARS = 500;
const ERROR_LINES_MAX = 20;
const ERROR_LINE_CHARS_MAX = 300;
const ERROR_LINE =
  /\b(?:error|err|fail|failed|failure|fatal|panic|exception|traceback|denied|refused|not found|cannot|assert\w*)\b/i;

/** Of a file's URL: signed ones go on for thousands. */
const URL_CHARS_MAX = 200;

/** Grapheme clusters longer than this many UTF-16 units are cut; real ones, flags and families included, are shorter. */
const GRAPHEME_CHARS_MAX = 64;

/**
 * The text of a message: what is embedded, searched and summarized.
 *
 * Text parts as they are; of a call its name and the strings in its arguments; of a result its head, its tail and its
 * error lines; of a file, and of bytes written as base64, name, type and size. No reasoning. At most 8,000 graphemes, well-formed, without NUL.
 */
export function textOf(parts: readonly Part[]): string {
  const pieces: string[] = [];
  let chars = 0;
  for (const part of parts) {
    if (chars > TEXT_GRAPHEMES_MAX) break; // a grapheme is at least one character: what follows would be cut anyway
    const piece = textOfPart(part);
    if (piece === "") continue;
    pieces.push(piece);
    chars += piece.length;
  }
  return cutAtGrapheme(clean(pieces.join("\n")), TEXT_GRAPHEMES_MAX);
}

function textOfPart(part: Part): string {
  switch (part.type) {
    case "text":
      return head(withoutBytes(part.text));
    case "reasoning":
      return "";
    case "tool_call":
      return [part.name, ...stringsIn(part.args as JsonValue)].join("\n");
    case "tool_result":
      return typeof part.content === "string" ? digestOutput(part.content) : part.content.map(textOfContent).join("\n");
    case "file":
      return describeFile(part);
    case "data":
      return stringsIn(part.data as JsonValue).join("\n");
  }
}

function textOfContent(part: Extract<Part, { type: "text" | "file" | "data" }>): string {
  return part.type === "text" ? digestOutput(part.text) : textOfPart(part);
}

/**
 * `image/png "screen.png" (12,345 bytes)`: what stands for a file wherever its bytes do not. A URL that holds the bytes is
 * left out, and of another the first 200 characters.
 */
export function describeFile(file: {
  mediaType: string;
  name?: string | undefined;
  data?: string | undefined;
  url?: string | undefined;
}): string {
  const { mediaType, name, data, url = "" } = file;
  const holdsBytes = url.startsWith("data:");
  const base64 = data ?? (holdsBytes ? /^[^,]{0,200};base64,/.exec(url) && url.slice(url.indexOf(",") + 1) : null);
  const named = name === undefined ? "" : ` "${name}"`;
  const size = base64 === null ? "" : ` (${byteLengthOf(base64).toLocaleString("en-US")} bytes)`;
  const place = url === "" || holdsBytes ? "" : ` ${cutAtGrapheme(url, URL_CHARS_MAX)}`;
  return `${mediaType}${named}${size}${place}`;
}

function digestOutput(raw: string): string {
  const output = withoutBytes(raw);
  if (output.length <= RESULT_HEAD_CHARS + RESULT_TAIL_CHARS) return output;
  const middle = output.slice(RESULT_HEAD_CHARS, -RESULT_TAIL_CHARS);
  const errors: string[] = [];
  // One pass over the middle, line by line, without a list of all its lines: it may be megabytes.
  for (let start = 0; start < middle.length && errors.length < ERROR_LINES_MAX; ) {
    const end = middle.indexOf("\n", start);
    const line = middle.slice(start, Math.min(end === -1 ? middle.length : end, start + ERROR_LINE_CHARS_MAX));
    if (ERROR_LINE.test(line)) errors.push(line.trim());
    start = end === -1 ? middle.length : end + 1;
  }
  return [output.slice(0, RESULT_HEAD_CHARS), ...errors, output.slice(-RESULT_TAIL_CHARS)].join("\n");
}

/** The strings of a JSON value in order, as many as a text can hold. */
function stringsIn(value: JsonValue): string[] {
  const strings: string[] = [];
  let chars = 0;
  const visit = (item: JsonValue): void => {
    if (chars > TEXT_GRAPHEMES_MAX) return;
    if (typeof item === "string") {
      if (item === "") return;
      const words = head(withoutBytes(item));
      strings.push(words);
      chars += words.length;
    } else if (typeof item === "object" && item !== null) {
      for (const child of Object.values(item)) visit(child);
    }
  };
  visit(value);
  return strings;
}

/** Enough of a string for any text: the cut at 8,000 graphemes comes later, and must not walk 10 MB. */
function head(text: string): string {
  return text.length > TEXT_GRAPHEMES_MAX + GRAPHEME_CHARS_MAX
    ? text.slice(0, TEXT_GRAPHEMES_MAX + GRAPHEME_CHARS_MAX)
    : text;
}

/** Lone surrogates become U+FFFD and NUL a space: neither survives tokenizers and SQL tools. `parts` keeps both. */
function clean(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed();
  return wellFormed.includes("\0") ? wellFormed.replaceAll("\0", " ") : wellFormed;
}

/**
 * The longest prefix of at most `charsMax` UTF-16 units that ends between two graphemes. As every grapheme has at least
 * one unit, it also has at most `charsMax` graphemes.
 */
export function cutAtGrapheme(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  // Only the characters around the cut are segmented: segmenting all of them would cost a microsecond each.
  const from = Math.max(0, charsMax - GRAPHEME_CHARS_MAX);
  let end = from;
  for (const { index, segment } of graphemesIn(text.slice(from, charsMax + GRAPHEME_CHARS_MAX))) {
    if (from + index + segment.length > charsMax) break;
    end = from + index + segment.length;
  }
  if (end > from) return text.slice(0, end);
  // One grapheme of more than 64 units: cut inside it, but not inside a character.
  return text.slice(0, charsMax).replace(/[\ud800-\udbff]$/, "");
}
