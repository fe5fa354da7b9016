import { isUtf8 } from "node:buffer";
import { StoreError } from "../core/errors.ts";
import { JSON_DEPTH_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import { isPause, peek } from "./head.ts";
import { type ImportFile, QUIET } from "./importer.ts";

/** The most bytes of one line. A message has at most 64 Mi characters, and a string in V8 at most 512 Mi. */
export const LINE_BYTES_MAX = 256 * 1024 * 1024;

/** A NUL within this many bytes means that the file is binary, as in git. */
const BINARY_HEAD_BYTES = 8_000;

const LINE_FEED = 0x0a;
const SPACE = 0x20;
const BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const BRACKET = 0x5b;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export type JsonObject = Record<string, JsonValue>;

export interface JsonLine {
  /** 1-based; blank lines count. */
  line: number;
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
  for await (const found of readLines(file)) {
    if (!("text" in found)) {
      yield found;
      continue;
    }
    const { line, text } = found;
    if (text.trim() === "") continue;
    const parsed = parseJson(text);
    if ("problem" in parsed) yield { line, ...parsed };
    else if (isObject(parsed.value)) yield { line, value: parsed.value };
    else yield { line, problem: `expected a JSON object, got ${kindOf(parsed.value)}` };
  }
}

export function parseJson(text: string): { value: JsonValue } | { problem: string } {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: `not JSON: ${(error as Error).message}` };
  }
  const flaw = flawOf(value, JSON_DEPTH_MAX);
  if (flaw === "deep") return { problem: `nested deeper than ${JSON_DEPTH_MAX} levels` };
  // `JSON.parse` makes a number infinite if it is too large for a double. `JSON.stringify` then writes null.
  return { value: flaw === "endless" ? JSON.parse(JSON.stringify(value)) : value };
}

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

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

interface TextLine {
  line: number;
  text: string;
}

export async function* readLines(file: ImportFile): AsyncGenerator<TextLine | DamagedLine | Pause> {
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
      const last = lastWhole(line, pieces);
      if (last !== undefined) {
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

/** Returns the text after the last line feed if it is a whole object. Nothing but white space can follow on its line. */
function lastWhole(line: number, pieces: readonly Uint8Array[]): TextLine | undefined {
  if (pieces.at(-1)?.findLast((byte) => byte > SPACE) !== CLOSING_BRACE) return undefined;
  const last = decode(line, pieces);
  return "text" in last && "value" in parseJson(last.text) ? last : undefined;
}

function decode(line: number, pieces: readonly Uint8Array[]): TextLine | DamagedLine {
  let bytes = Buffer.concat(pieces);
  if (line === 1 && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    bytes = bytes.subarray(BYTE_ORDER_MARK.length);
  }
  // Decoding would replace the invalid bytes by U+FFFD.
  if (!isUtf8(bytes)) return { line, problem: "not valid UTF-8" };
  return { line, text: bytes.toString("utf8") };
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

/** Returns the JSON objects among the first lines of a file. Lines that are cut short or damaged are skipped. */
export function* headObjects(head: string): Generator<JsonObject> {
  for (const line of head.split("\n", HEAD_LINES)) {
    try {
      const value: unknown = JSON.parse(line);
      if (isObject(value)) yield value;
    } catch {}
  }
}
