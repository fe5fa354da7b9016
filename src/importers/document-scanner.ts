import { isUtf8 } from "node:buffer";
import type { JsonValue } from "../core/message.ts";
import { type DamagedLine, LINE_BYTES_MAX, parseJson } from "./lines.ts";

/** An element of a JSON document: an item of its list, or a field of its object. A field that is a list gives its items. */
export interface Element {
  /** The line on which the element begins. */
  line: number;
  /** The index of the document in its file, or of its line if each line is a document. */
  document: number;
  /** The name of the field. */
  key: string | undefined;
  value: JsonValue;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = new Set([0xef, 0xbb, 0xbf]);

/**
 * Takes JSON apart while it comes, so that a list of any length needs the memory of one item, and the items of a file that
 * was cut off are not lost with its end.
 *
 * It counts brackets and leaves the pieces to `JSON.parse`. What is wrong within a piece costs that piece. A line feed within
 * quotes, or a bracket that closes nothing, means that the brackets cannot be believed; then the next item is looked for
 * where items begin in this file, at their column.
 */
export class DocumentScanner {
  #line = 1;
  /** Bytes of the line so far. */
  #column = 0;
  /** Whether only white space stands on the line so far. */
  #isLineStart = true;
  #document = -1;
  /** Open brackets, as their closing ones. */
  #closers: number[] = [];
  /** How many brackets enclose the pieces: 1, or 2 in a list that is a field. 0 between documents. */
  #level = 0;
  #key: string | undefined;
  /** Where the items of the list begin on their lines; 0 where that is not known. */
  #itemColumn = 0;
  /** Whether items have a line each: then the next bracket at that column is another item, whatever is still open. */
  #isItemPerLine = false;
  #inString = false;
  #isEscaped = false;
  /** Set where the brackets were lost. */
  #isLost = false;
  #pieces: Buffer[] = [];
  #byteLength = 0;
  /** Where the piece begins, once something of it was seen. */
  #pieceLine: number | undefined;

  *push(bytes: Buffer): Generator<Element | DamagedLine> {
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === LINE_FEED) {
        if (this.#inString) yield this.#lose("a text that does not end on its line");
        // Laid out over many lines, an item has its first bracket alone on a line.
        if (this.#pieceLine === this.#line) this.#isItemPerLine = this.#column - this.#itemColumn > 2;
        this.#line++;
        this.#column = 0;
        this.#isLineStart = true;
        continue;
      }
      const column = this.#column++;
      if (this.#inString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#inString = false;
        continue;
      }
      if (isSpace(byte) || (this.#document === -1 && BYTE_ORDER_MARK.has(byte))) continue;
      const isItemStart = this.#isLineStart && byte === OPEN_BRACE && column === this.#itemColumn;
      this.#isLineStart = false;
      if (this.#isLost) {
        if (!isItemStart) continue;
        this.#isLost = false;
        start = at;
      } else if (isItemStart && this.#isItemPerLine && this.#closers.length > this.#level) {
        yield this.#lose("brackets that are not closed");
        this.#isLost = false;
        start = at;
      }
      if (this.#level === 0) {
        if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
          this.#open(byte);
          start = at + 1;
        } else yield this.#lose("expected a JSON object or list");
        continue;
      }
      if (byte === COMMA && this.#closers.length === this.#level) {
        yield* this.#end(bytes.subarray(start, at));
        start = at + 1;
        continue;
      }
      if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        if (byte !== this.#closers.at(-1)) {
          yield this.#lose("a bracket that closes nothing");
          continue;
        }
        if (this.#closers.length === this.#level) {
          if (this.#pieceLine !== undefined) yield* this.#end(bytes.subarray(start, at));
          this.#drop();
          this.#level--;
          this.#key = undefined;
          this.#itemColumn = 0;
          this.#isItemPerLine = false;
          start = at + 1;
        }
        this.#closers.pop();
        continue;
      }
      if (this.#pieceLine === undefined) {
        this.#pieceLine = this.#line;
        if (isItemStart || byte === OPEN_BRACE) this.#itemColumn = column;
      }
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        const isField = this.#closers.length === 1 && this.#closers[0] === CLOSE_BRACE;
        this.#closers.push(byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET);
        if (!isField || byte !== OPEN_BRACKET) continue;
        this.#key = this.#keyBefore(bytes.subarray(start, at));
        this.#level = 2;
        start = at + 1;
      }
    }
    if (this.#level > 0 && !this.#isLost) this.#keep(bytes.subarray(start));
  }

  /** The end of the file. */
  *end(): Generator<Element | DamagedLine> {
    if (this.#level === 0 || this.#isLost) return;
    const line = this.#pieceLine ?? this.#line;
    // The last item may be whole, and only the end of its list be missing.
    if (this.#pieceLine !== undefined && this.#closers.length === this.#level && !this.#inString) {
      yield* this.#end(Buffer.alloc(0));
    }
    yield { line, problem: "cut off: the file ends before the end of this" };
  }

  #open(byte: number): void {
    this.#document++;
    this.#closers = [byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET];
    this.#level = 1;
    this.#key = undefined;
    this.#drop();
  }

  #keep(bytes: Buffer): void {
    this.#byteLength += bytes.length;
    if (this.#byteLength <= LINE_BYTES_MAX) this.#pieces.push(bytes);
    else this.#pieces = [];
  }

  #drop(): void {
    this.#pieces = [];
    this.#byteLength = 0;
    this.#pieceLine = undefined;
  }

  /** The name of the field whose list begins here. */
  #keyBefore(last: Buffer): string {
    this.#keep(last);
    const parsed = parseJson(`{${Buffer.concat(this.#pieces).toString()}0}`);
    this.#drop();
    return "value" in parsed ? (Object.keys(parsed.value ?? {})[0] ?? "") : "";
  }

  /** A piece is complete, `last` being the end of it. */
  *#end(last: Buffer): Generator<Element | DamagedLine> {
    this.#keep(last);
    const line = this.#pieceLine ?? this.#line;
    const isTooLong = this.#byteLength > LINE_BYTES_MAX;
    const bytes = Buffer.concat(this.#pieces);
    const length = this.#byteLength;
    this.#drop();
    const key = this.#key;
    const isList = this.#level === 2 || this.#closers[0] === CLOSE_BRACKET;
    if (isList) this.#isItemPerLine = line === this.#line;
    if (isTooLong) {
      yield { line, problem: `${length} bytes long; a piece has at most ${LINE_BYTES_MAX}` };
      return;
    }
    if (!isUtf8(bytes)) {
      yield { line, problem: "not valid UTF-8" };
      return;
    }
    const text = bytes.toString("utf8");
    if (text.trim() === "") return;
    const parsed = parseJson(isList ? text : `{${text}}`);
    if ("problem" in parsed) yield { line, problem: parsed.problem };
    else if (isList) yield { line, document: this.#document, key, value: parsed.value };
    else {
      for (const [name, value] of Object.entries(parsed.value ?? {})) {
        yield { line, document: this.#document, key: name, value };
      }
    }
  }

  #lose(reason: string): DamagedLine {
    const line = this.#pieceLine ?? this.#line;
    this.#isLost = true;
    this.#closers.length = this.#level;
    this.#inString = false;
    this.#isEscaped = false;
    this.#drop();
    return { line, problem: `${reason}: what follows is read from the next item on` };
  }
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0d || byte === 0x09;
}
