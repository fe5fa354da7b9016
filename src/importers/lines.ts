import { isUtf8 } from "node:buffer";
import { StoreError } from "../core/errors.ts";
import { JSON_DEPTH_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import { cutAtGrapheme } from "../core/text.ts";
import { isPause, madeOfHead, peek } from "./head.ts";
import { type ImportFile, QUIET } from "./importer.ts";

/** The most bytes of one line. A message has at most 64 Mi characters, and a string in V8 at most 512 Mi. */
export const LINE_BYTES_MAX = 256 * 1024 * 1024;

/** The most values of one line. Each takes up to 100 bytes of memory. */
export const LINE_VALUES_MAX = 2_000_000;

/** Characters of JSON that are parsed without a look at its depth and values, because they cannot fill the memory. */
const UNCHECKED_CHARS_MAX = 1024 * 1024;

/** A NUL within this many bytes means that the file is binary, as in git. */
const BINARY_HEAD_BYTES = 8_000;

export const LINE_FEED = 0x0a;
const SPACE = 0x20;
export const BRACE = 0x7b;
export const CLOSING_BRACE = 0x7d;
export const BRACKET = 0x5b;
export const CLOSING_BRACKET = 0x5d;
export const COMMA = 0x2c;
const COLON = 0x3a;
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export type JsonObject = Record<string, JsonValue>;

export interface JsonLine {
  /** 1-based; blank lines count. */
  line: number;
  /** The number of objects before it on the line, if there are any: a writer may die before the line feed. */
  index?: number;
  value: JsonObject;
}

export interface DamagedLine {
  line: number;
  problem: string;
}

/** Stands for `PAUSE` or `QUIET`. A line without its line feed waits for the rest. */
export interface Pause {
  line: number;
  isPause: true;
  isQuiet: boolean;
}

/**
 * Returns the lines of a JSON Lines file, without blank lines. The last line needs no line feed. If it was cut off, it is
 * damaged; in a followed file, it waits for the rest. Only one line is in memory.
 *
 * @throws {StoreError} `IMPORT_UNREADABLE` when the file is binary.
 */
export async function* readJsonLines(file: ImportFile): AsyncGenerator<JsonLine | DamagedLine | Pause> {
  for await (const found of readLines(file, decodeBroken)) {
    if (!("text" in found)) {
      yield found;
      continue;
    }
    const { line, text, isBroken } = found;
    if (text.trim() === "") continue;
    if (isBroken) {
      yield { line, problem: NOT_UTF8 };
      const whole = objectsIn(text).objects.filter((object) => !JSON.stringify(object).includes("\uFFFD"));
      for (const [index, value] of whole.entries()) yield { line, index, value };
      continue;
    }
    const parsed = parseJson(text);
    if ("problem" in parsed) {
      const { objects, isTorn } = objectsIn(text);
      if (isTorn) yield { line, ...parsed };
      for (const [index, value] of objects.entries()) yield { line, index, value };
    } else if (isObject(parsed.value)) yield { line, value: parsed.value };
    else yield { line, problem: `expected a JSON object, got ${kindOf(parsed.value)}` };
  }
}

/**
 * Returns the whole objects of a line that is not JSON. A writer that died may have left out a line feed, or also the rest of its
 * line: the next writer then went on in the middle of it. `isTorn` is true if the line has more than these objects.
 */
function objectsIn(text: string, triesMax = TEAR_TRIES_MAX): { objects: JsonObject[]; isTorn: boolean } {
  const { objects, rest } = wholeObjects(text);
  if (rest.trim() === "") return { objects, isTorn: false };
  let tries = 0;
  for (const { at, keys } of tearsIn(rest)) {
    if (++tries > triesMax) break;
    const next = rest.slice(at);
    const isLine = keys === undefined || hasKeys(wholeObjects(next).objects[0], keys);
    const found = isLine ? objectsIn(next, triesMax - tries).objects : [];
    if (found.length > 0) return { objects: [...objects, ...found], isTorn: true };
  }
  return { objects, isTorn: true };
}

function hasKeys(object: JsonObject | undefined, keys: readonly string[]): boolean {
  return object !== undefined && keys.every((key) => Object.hasOwn(object, key));
}

/** Returns the whole objects with which a text begins, and the text after them. */
function wholeObjects(text: string): { objects: JsonObject[]; rest: string } {
  const objects: JsonObject[] = [];
  let start = 0;
  for (const end of surveyOf(text).ends) {
    const parsed = parseJson(text.slice(start, end));
    if (!("value" in parsed) || !isObject(parsed.value)) break;
    objects.push(parsed.value);
    start = end;
  }
  return { objects, rest: text.slice(start) };
}

/** The most places of a line at which another line is looked for. */
const TEAR_TRIES_MAX = 10;

const FIRST_KEY = /\{"[^"\\]*"\s*:/y;

/**
 * Yields where another object may begin in an object that was not finished. Where a nested object could stand, it also yields the
 * first keys of the unfinished one: another line of the same writer has them too.
 */
function* tearsIn(text: string): Generator<{ at: number; keys?: string[] }> {
  const isObjectStart = (at: number): boolean => {
    FIRST_KEY.lastIndex = at;
    return FIRST_KEY.test(text);
  };
  const open: number[] = [];
  const keys: string[] = [];
  let before = -1;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char <= SPACE && char > 0) continue;
    if (char === QUOTE) {
      const end = endOfString(text, at);
      if (end === -1) return;
      // The end of a text that was cut off is the first quote of the next line.
      if (text.charCodeAt(end - 1) === BRACE && end - 1 > at && isObjectStart(end - 1)) yield { at: end - 1 };
      if (open.length === 1 && keys.length < 2 && (before === BRACE || before === COMMA))
        keys.push(text.slice(at + 1, end));
      at = end;
    } else if (char === BRACE && isObjectStart(at) && at > 0) {
      const isNested = before === COLON || before === BRACKET || (before === COMMA && open.at(-1) === BRACKET);
      if (!isNested) yield { at };
      else if (keys.length === 2 && text.startsWith(`"${keys[0]}"`, at + 1)) yield { at, keys: [...keys] };
    }
    if (char === BRACE || char === BRACKET) open.push(char);
    else if (char === CLOSING_BRACE || char === CLOSING_BRACKET) open.pop();
    before = char;
  }
}

/**
 * Counts the brackets and values of JSON without parsing it. Returns the index after each bracket that closes the outermost one,
 * or the reason why the JSON must not be parsed.
 */
function surveyOf(text: string): { problem?: string; ends: number[] } {
  const ends: number[] = [];
  let depth = 0;
  let valueCount = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = endOfString(text, at);
      if (at === -1) break;
    } else if (char === COMMA) valueCount++;
    else if (char === BRACE || char === BRACKET) {
      valueCount++;
      if (++depth > JSON_DEPTH_MAX) return { problem: TOO_DEEP, ends };
    } else if ((char === CLOSING_BRACE || char === CLOSING_BRACKET) && --depth === 0) ends.push(at + 1);
    if (valueCount > LINE_VALUES_MAX) return { problem: TOO_WIDE, ends };
  }
  return { ends };
}

/** Returns the index of the quote that ends the string that begins at `start`; -1 if there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapeAt = end;
    while (text.charCodeAt(escapeAt - 1) === BACKSLASH) escapeAt--;
    if ((end - escapeAt) % 2 === 0) return end;
  }
  return -1;
}

/** Parses JSON. If it has too many values, an object that holds bytes by their index becomes a text in base64. */
export function parseJson(given: string): { value: JsonValue } | { problem: string } {
  const isSurveyed = given.length > UNCHECKED_CHARS_MAX;
  let text = given;
  let { problem } = isSurveyed ? surveyOf(text) : {};
  if (problem === TOO_WIDE) {
    text = withPackedBytes(text);
    problem = surveyOf(text).problem;
  }
  if (problem !== undefined) return { problem };
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `not JSON: ${(error as Error).message}` };
  }
  if (isSurveyed && !LARGE_NUMBER.test(text)) return { value };
  const flaw = flawOf(value, JSON_DEPTH_MAX);
  if (flaw === "deep") return { problem: TOO_DEEP };
  // `JSON.parse` makes a number infinite if it is too large for a double. `JSON.stringify` then writes null.
  return { value: flaw === "endless" ? JSON.parse(JSON.stringify(value)) : value };
}

/** Returns the value of JSON, or `otherwise` for a text that cannot be parsed. */
export function valueIn<Other = undefined>(text: string, otherwise = undefined as Other): JsonValue | Other {
  const parsed = parseJson(text);
  return "value" in parsed ? parsed.value : otherwise;
}

/** Matches nothing within a string, where quotes are escaped. */
const FIRST_BYTE = /\{\s*"0"\s*:/g;
const BYTE = /\s*"(\d+)"\s*:\s*(\d{1,3})\s*([,}])/y;

function withPackedBytes(text: string): string {
  const pieces: string[] = [];
  let start = 0;
  for (const { index } of text.matchAll(FIRST_BYTE)) {
    const bytes: number[] = [];
    BYTE.lastIndex = index + 1;
    for (let found = BYTE.exec(text); found !== null; found = BYTE.exec(text)) {
      const [, key, byte, mark] = found;
      if (Number(key) !== bytes.length || Number(byte) > 255) break;
      bytes.push(Number(byte));
      if (mark === ",") continue;
      pieces.push(text.slice(start, index), `"${Buffer.from(bytes).toString("base64")}"`);
      start = BYTE.lastIndex;
      break;
    }
  }
  return [...pieces, text.slice(start)].join("");
}

const TOO_WIDE = `more than ${LINE_VALUES_MAX} values`;

/** Matches all JSON with a number that is too large for a double, and some other JSON. */
const LARGE_NUMBER = /[eE]\+?\d{3}|\d{200}/;

const TOO_DEEP = `nested deeper than ${JSON_DEPTH_MAX} levels`;

/** Must run before any recursive function gets the value, because deep nesting overflows the stack. */
function flawOf(value: JsonValue, levels: number): "deep" | "endless" | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "endless";
  if (typeof value !== "object" || value === null) return undefined;
  if (levels === 0) return "deep";
  let flaw: "endless" | undefined;
  for (const item of Object.values(value)) {
    const found = flawOf(item, levels - 1);
    if (found === "deep") return found;
    flaw ??= found;
  }
  return flaw;
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : `a ${typeof value}`;
}

/** Names the fields of an object, for a message about a file that was not understood. Returns "" for anything else. */
export function fieldsIn(value: unknown): string {
  if (!isObject(value)) return "";
  const names = Object.keys(value).map((name) => cutAtGrapheme(name, 40));
  return names.length === 0 ? "" : `an object with ${names.slice(0, 10).join(", ")}${names.length > 10 ? ", …" : ""}`;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export interface TextLine {
  line: number;
  text: string;
  /** Set by `decodeBroken` if the text has replacements for bytes that are not UTF-8. */
  isBroken?: boolean;
}

const NOT_UTF8 = "not valid UTF-8";

export async function* readLines(
  file: ImportFile,
  decode = decodeWhole,
): AsyncGenerator<TextLine | DamagedLine | Pause> {
  let line = 1;
  let pieces: Uint8Array[] = [];
  let byteLength = 0;

  function take(piece: Uint8Array): void {
    byteLength += piece.length;
    if (byteLength <= LINE_BYTES_MAX) pieces.push(piece);
    else pieces = [];
  }
  function finish(): TextLine | DamagedLine {
    const finished =
      byteLength > LINE_BYTES_MAX
        ? { line, problem: `${byteLength} bytes long; a line has at most ${LINE_BYTES_MAX}` }
        : decode(line, pieces);
    line++;
    pieces = [];
    byteLength = 0;
    return finished;
  }

  for await (const chunk of refuseBinary(file)) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (isPause(chunk)) {
      const isQuiet = chunk === QUIET;
      const last = endsObject(pieces) ? decode(line, pieces) : undefined;
      if (last !== undefined && isWhole(last)) {
        // The line number grows only when the line feed is read.
        yield last;
        pieces = [];
        byteLength = 0;
      } else if (isQuiet && byteLength > 0) yield decode(line, pieces); // the pieces are kept for more
      yield { line, isPause: true, isQuiet };
    }
    let start = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, start)) {
      take(bytes.subarray(start, end));
      yield finish();
      start = end + 1;
    }
    if (start < bytes.length) take(bytes.subarray(start));
  }
  if (byteLength > 0) yield finish();
}

function endsObject(pieces: readonly Uint8Array[]): boolean {
  return pieces.at(-1)?.findLast((byte) => byte > SPACE) === CLOSING_BRACE;
}

/** Returns true if the text after the last line feed is a whole object. Nothing but white space can follow on its line. */
function isWhole(last: TextLine | DamagedLine): boolean {
  return "text" in last && last.isBroken !== true && "value" in parseJson(last.text);
}

function decodeWhole(line: number, pieces: readonly Uint8Array[]): TextLine | DamagedLine {
  // Decoding would replace the invalid bytes by U+FFFD.
  const found = decodeBroken(line, pieces);
  return found.isBroken ? { line, problem: NOT_UTF8 } : found;
}

function decodeBroken(line: number, pieces: readonly Uint8Array[]): TextLine {
  let bytes = Buffer.concat(pieces);
  if (line === 1 && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    bytes = bytes.subarray(BYTE_ORDER_MARK.length);
  }
  const text = bytes.toString("utf8");
  return isUtf8(bytes) ? { line, text } : { line, text, isBroken: true };
}

/**
 * Throws if the file is binary, which a NUL near its beginning shows. A file that begins with a brace or bracket is never
 * refused, because a crash may fill the end of a good file with NULs.
 */
export async function* refuseBinary(file: ImportFile): AsyncGenerator<Uint8Array> {
  const { head, chunks, close } = await peek(file.chunks, BINARY_HEAD_BYTES);
  const start = head.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  if (head[start] !== BRACE && head[start] !== BRACKET && head.includes(0)) {
    await close();
    throw new StoreError("IMPORT_UNREADABLE", { path: file.path, reason: "it is not a text file" });
  }
  yield* chunks;
}

export const HEAD_LINES = 100;

/**
 * Returns the JSON objects among the first lines of a file. Lines that are cut short or damaged are skipped, because a line of a
 * document over many lines looks like them.
 */
export function headObjects(head: string): JsonObject[] {
  return madeOfHead(head, firstObjects);
}

function firstObjects(head: string): JsonObject[] {
  const values = head.split("\n", HEAD_LINES).flatMap((line) => {
    const parsed = parseJson(line);
    if ("value" in parsed) return [parsed.value];
    const { objects, rest } = wholeObjects(line);
    return rest.trim() === "" ? objects : [];
  });
  return values.filter(isObject);
}
