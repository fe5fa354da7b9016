import { graphemesIn } from "./graphemes.ts";
import { TEXT_GRAPHEMES_MAX } from "./limits.ts";
import type { FilePart, JsonValue, Part } from "./message.ts";

/** The characters kept from both ends of a tool's output. Between them, only lines about errors are kept. */
const RESULT_HEAD_CHARS = 1_500;
const RESULT_TAIL_CHARS = 500;
const ERROR_LINES_MAX = 20;
const ERROR_LINE_CHARS_MAX = 300;
const ERROR_LINE =
  /\b(?:error|err|fail|failed|failure|fatal|panic|exception|traceback|denied|refused|not found|cannot|assert\w*)\b/i;

/** Signed URLs have thousands of characters. */
const URL_CHARS_MAX = 200;

/** A grapheme of more UTF-16 units may be cut. The graphemes of real texts, such as flags, are shorter. */
const GRAPHEME_CHARS_MAX = 64;

/**
 * Returns the text of a message, which is embedded, searched and summarized. It contains the texts; the
 * names of calls and the strings in their arguments; the head, the tail and the error lines of results; and the names, types and
 * sizes of files. Base64 is replaced by its type and size. Reasoning and injected parts are left out. The text has at most 8,000
 * graphemes, is well-formed, and contains no NUL.
 */
export function textOf(parts: readonly Part[]): string {
  const pieces: string[] = [];
  let chars = 0;
  for (const part of parts) {
    if (chars > TEXT_GRAPHEMES_MAX) break; // the remaining parts would be cut anyway
    const piece = isInjected(part) ? "" : textOfPart(part);
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
      return typeof part.content === "string"
        ? abridgeOutput(part.content)
        : part.content.map(textOfContent).join("\n");
    case "file":
      return describeFile(part);
    case "data":
      return stringsIn(part.data as JsonValue).join("\n");
  }
}

function textOfContent(part: Extract<Part, { type: "text" | "file" | "data" }>): string {
  return part.type === "text" ? abridgeOutput(part.text) : textOfPart(part);
}

/** Describes a file: `image/png "screen.png" (12,345 bytes)`. A URL that is not a `data:` URL is added, cut to 200 characters. */
export function describeFile(file: Pick<FilePart, "mediaType" | "name" | "data" | "url">): string {
  const { mediaType, name, data, url = "" } = file;
  const holdsBytes = url.startsWith("data:");
  const base64 = data ?? (holdsBytes ? /^[^,]{0,200};base64,/.exec(url) && url.slice(url.indexOf(",") + 1) : null);
  const named = name === undefined ? "" : ` "${name}"`;
  const size = base64 === null ? "" : ` (${base64ByteLength(base64).toLocaleString("en-US")} bytes)`;
  const location = url === "" || holdsBytes ? "" : ` ${cutAtGrapheme(url, URL_CHARS_MAX)}`;
  return `${mediaType}${named}${size}${location}`;
}

function abridgeOutput(raw: string): string {
  const output = withoutBytes(raw);
  if (output.length <= RESULT_HEAD_CHARS + RESULT_TAIL_CHARS) return output;
  const middle = output.slice(RESULT_HEAD_CHARS, -RESULT_TAIL_CHARS);
  const errors: string[] = [];
  // The middle may have megabytes, so no list of its lines is made.
  for (let start = 0; start < middle.length && errors.length < ERROR_LINES_MAX; ) {
    const end = middle.indexOf("\n", start);
    const line = middle.slice(start, Math.min(end === -1 ? middle.length : end, start + ERROR_LINE_CHARS_MAX));
    if (ERROR_LINE.test(line)) errors.push(line.trim());
    start = end === -1 ? middle.length : end + 1;
  }
  return [output.slice(0, RESULT_HEAD_CHARS), ...errors, output.slice(-RESULT_TAIL_CHARS)].join("\n");
}

/** Returns the first strings of a JSON value, as far as a message's text has room. */
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

/** Cuts a string early, so that no later function reads 10 MB. */
function head(text: string): string {
  return text.slice(0, TEXT_GRAPHEMES_MAX + GRAPHEME_CHARS_MAX);
}

/** Replaces lone surrogates by U+FFFD and NUL by a space, because tokenizers and SQL tools mishandle them. `parts` keeps both. */
function clean(text: string): string {
  return text.toWellFormed().replaceAll("\0", " ");
}

/** Returns the longest prefix of at most `charsMax` UTF-16 units that ends between two graphemes. */
export function cutAtGrapheme(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  if (/^(?!\r\n)[\x00-\x7f]{2}/.test(text.slice(charsMax - 1, charsMax + 1))) return text.slice(0, charsMax);
  // Segmenting takes a microsecond for each character, so only the text around the cut is segmented.
  const from = Math.max(0, charsMax - GRAPHEME_CHARS_MAX);
  let end = from;
  for (const { index, segment } of graphemesIn(text.slice(from, charsMax + GRAPHEME_CHARS_MAX))) {
    if (from + index + segment.length > charsMax) break;
    end = from + index + segment.length;
  }
  if (end > from) return text.slice(0, end);
  // A grapheme of more than 64 units is cut, but not between the halves of a surrogate pair.
  return text.slice(0, charsMax).replace(/[\ud800-\udbff]$/, "");
}

/** Agents write the name of the server before that of the tool: `mcp__coppice__recall`, `coppice_recall`. */
const OWN_SERVER = /(?:^|[^a-z])coppice[_.:-]/i;
const OWN_TOOL = /[_.:-](?:recall|expand|get_context|recap|past_work|lost|list_sessions|list_subjects|hook|append)$/i;

/** A command line that reads the store, at the beginning of a command. */
const OWN_COMMAND =
  /(?:^|[;&|(\n])[ \t]*(?:npx\s+(?:-\S+\s+)*)?coppice\s+(?:recall|expand|show|resume|recap|file|fix|how|friction|lost|subjects?|sessions|forest|export)\b/;
const COMMAND_ARGUMENTS = ["command", "cmd", "script"];

/**
 * Returns true for a part that nobody said: a part that its sender marked as `injected`, or a call of Coppice itself. The message
 * keeps such a part word for word, but the message's `text` leaves it out. So it never appears in search, titles, clusters,
 * summaries, digests or stories.
 */
export function isInjected(part: Part): boolean {
  return part.injected === true || (part.type === "tool_call" && isOwnCall(part.name, part.args));
}

function isOwnCall(name: string, args: unknown): boolean {
  if (OWN_TOOL.test(name) && OWN_SERVER.test(name)) return true;
  if (typeof args !== "object" || args === null) return false;
  return COMMAND_ARGUMENTS.some((key) => {
    const value = (args as Record<string, unknown>)[key];
    const command = Array.isArray(value) ? value.join(" ") : value;
    return typeof command === "string" && command.includes("coppice") && OWN_COMMAND.test(command);
  });
}

/** The least length of a run of base64 characters that counts as bytes. Hashes and signatures are shorter. */
const BASE64_CHARS_MIN = 256;

// Without the lookbehind, matching takes quadratic time. Matching a whole run would overflow the stack, so this matches its start.
const RUN_START = new RegExp(`(?<![\\w+/-])[\\w+/-]{${BASE64_CHARS_MIN}}`, "g");
const URL_START = /data:([\w.+-]{1,60}\/[\w.+-]{1,60})(?:;[\w=.-]{1,60}){0,4};base64,$/;

const URL_START_CHARS_MAX = 400;

/**
 * Replaces base64, alone or in a `data:` URL, by the type and size of its bytes: `[image/png, 12,345 bytes]`. A run counts
 * as bytes if it is long and begins with a mix of upper-case letters, lower-case letters and digits.
 */
export function withoutBytes(text: string): string {
  if (!hasLongRun(text)) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const { index: start, 0: beginning } of text.matchAll(RUN_START)) {
    if (start < from) continue;
    const before = text.slice(Math.max(from, start - URL_START_CHARS_MAX), start);
    const url = URL_START.exec(before);
    if (url === null && ![/[A-Z]/, /[a-z]/, /\d/].every((kind) => kind.test(beginning))) continue;
    const end = runEnd(text, start + BASE64_CHARS_MIN);
    const size = base64ByteLength(text.slice(start, end)).toLocaleString("en-US");
    pieces.push(text.slice(from, start - (url?.[0].length ?? 0)), `[${url?.[1] ?? "base64"}, ${size} bytes]`);
    from = end;
  }
  return from === 0 ? text : pieces.join("") + text.slice(from);
}

/** Looks at every 256th character first, which is much faster than RUN_START for most texts. */
function hasLongRun(text: string): boolean {
  for (let at = BASE64_CHARS_MIN - 1; at < text.length; at += BASE64_CHARS_MIN) {
    if (!isBase64Char(text, at)) continue;
    let from = at - 1;
    while (from >= 0 && at - from < BASE64_CHARS_MIN && isBase64Char(text, from)) from--;
    let end = at + 1;
    while (end < text.length && end - from <= BASE64_CHARS_MIN && isBase64Char(text, end)) end++;
    if (end - from - 1 >= BASE64_CHARS_MIN) return true;
  }
  return false;
}

const IS_BASE64_CHAR = Uint8Array.from({ length: 128 }, (_, code) => Number(/[\w+/-]/.test(String.fromCharCode(code))));

function isBase64Char(text: string, index: number): boolean {
  return IS_BASE64_CHAR[text.charCodeAt(index)] === 1;
}

function runEnd(text: string, from: number): number {
  const afterRun = /[^\w+/-]/g;
  afterRun.lastIndex = from;
  let end = afterRun.exec(text)?.index ?? text.length;
  while (text[end] === "=") end++;
  return end;
}

/** Returns the number of bytes. The loop takes linear time; `/=+$/` would take quadratic time on many `=`. */
export function base64ByteLength(base64: string): number {
  let length = base64.length;
  while (length > 0 && base64[length - 1] === "=") length--;
  return Math.floor((length * 3) / 4);
}
