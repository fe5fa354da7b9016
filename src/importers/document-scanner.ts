import { isUtf8 } from "node:buffer";
import { JSON_DEPTH_MAX } from "../core/limits.ts";
import type { JsonValue } from "../core/message.ts";
import {
  BACKSLASH,
  BRACE,
  BRACKET,
  CLOSING_BRACE,
  CLOSING_BRACKET,
  COMMA,
  type DamagedLine,
  LINE_BYTES_MAX,
  LINE_FEED,
  parseJson,
  QUOTE,
  valueIn,
} from "./lines.ts";

/** An item of the document's list, an item of a list in a field of the document, or any other field. */
export interface Element {
  line: number;
  /** The index of the document in its file. If each line is a document, the index of the line. */
  document: number;
  /** The name of the field. Undefined if the document is a list. */
  key: string | undefined;
  value: JsonValue;
}

const SPACES = new Set([0x20, 0x0d, 0x09]);
const BYTE_ORDER_MARK = new Set([0xef, 0xbb, 0xbf]);

/**
 * Splits JSON into elements as it arrives. Only one element is in memory.
 *
 * The scanner counts brackets and leaves the elements to `JSON.parse`. An error within an element costs only that element. A line
 * feed within quotes, or a bracket that closes nothing, shows that the count is wrong. The scanner then looks for a bracket in
 * the column in which this file's items begin. (JSON libraries stop at the first error and lose every later item.)
 */
export class DocumentScanner {
  #line = 1;
  /** In bytes. */
  #column = 0;
  #isLineStart = true;
  #document = -1;
  /** The closing brackets that are still to come. */
  #closers: number[] = [];
  /** The number of open brackets beyond the deepest level that can be read. */
  #excess = 0;
  #isTooDeep = false;
  /** The number of brackets around an element: 1, or 2 in a list that is a field; 0 between documents. */
  #level = 0;
  #key: string | undefined;
  /** The column at which the items of the list begin; 0 if it is unknown. */
  #itemColumn = 0;
  /** True if each item is on one line. A bracket in `#itemColumn` then begins another item, even if brackets are open. */
  #isItemPerLine = false;
  #inString = false;
  #isEscaped = false;
  /** True after damage, until an item begins. */
  #isLost = false;
  #pieces: Buffer[] = [];
  #byteLength = 0;
  #elementLine: number | undefined;

  *push(bytes: Buffer): Generator<Element | DamagedLine> {
    let start = 0;
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === LINE_FEED) {
        if (this.#inString) yield this.#lose("a text that does not end on its line");
        // An item over many lines has its first bracket alone on a line.
        if (this.#elementLine === this.#line) this.#isItemPerLine = this.#column - this.#itemColumn > 2;
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
      if (SPACES.has(byte) || (this.#document === -1 && BYTE_ORDER_MARK.has(byte))) continue;
      const isItemStart = this.#isLineStart && byte === BRACE && column === this.#itemColumn;
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
        if (byte === BRACE || byte === BRACKET) {
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
      if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
        if (this.#excess > 0) {
          this.#excess--;
          continue;
        }
        if (byte !== this.#closers.at(-1)) {
          yield this.#lose("a bracket that closes nothing");
          continue;
        }
        if (this.#closers.length === this.#level) {
          if (this.#elementLine !== undefined) yield* this.#end(bytes.subarray(start, at));
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
      if (this.#elementLine === undefined) {
        this.#elementLine = this.#line;
        if (isItemStart || byte === BRACE) this.#itemColumn = column;
      }
      if (byte === QUOTE) this.#inString = true;
      else if (byte === BRACE || byte === BRACKET) {
        if (this.#closers.length > JSON_DEPTH_MAX + this.#level) {
          this.#excess++;
          this.#isTooDeep = true;
          continue;
        }
        const isField = this.#closers.length === 1 && this.#closers[0] === CLOSING_BRACE;
        this.#closers.push(byte === BRACE ? CLOSING_BRACE : CLOSING_BRACKET);
        if (!isField || byte !== BRACKET) continue;
        this.#key = this.#keyBefore(bytes.subarray(start, at));
        this.#level = 2;
        start = at + 1;
      }
    }
    if (this.#level > 0 && !this.#isLost) this.#keep(bytes.subarray(start));
  }

  *end(): Generator<Element | DamagedLine> {
    if (this.#level === 0 || this.#isLost) return;
    const line = this.#elementLine ?? this.#line;
    // The last item may be whole if only the end of its list is missing.
    if (this.#elementLine !== undefined && this.#closers.length === this.#level && !this.#inString) {
      yield* this.#end(Buffer.alloc(0));
    }
    yield { line, problem: "cut off: the file ends inside this item" };
  }

  #open(byte: number): void {
    this.#document++;
    this.#closers = [byte === BRACE ? CLOSING_BRACE : CLOSING_BRACKET];
    this.#level = 1;
    this.#key = undefined;
    this.#drop();
  }

  #keep(bytes: Buffer): void {
    this.#byteLength += bytes.length;
    if (this.#byteLength <= LINE_BYTES_MAX && !this.#isTooDeep) this.#pieces.push(bytes);
    else this.#pieces = [];
  }

  #drop(): void {
    this.#pieces = [];
    this.#byteLength = 0;
    this.#isTooDeep = false;
    this.#excess = 0;
    this.#elementLine = undefined;
  }

  #keyBefore(last: Buffer): string {
    this.#keep(last);
    const field = valueIn(`{${Buffer.concat(this.#pieces).toString()}0}`);
    this.#drop();
    return Object.keys(field ?? {})[0] ?? "";
  }

  *#end(last: Buffer): Generator<Element | DamagedLine> {
    this.#keep(last);
    const line = this.#elementLine ?? this.#line;
    const isTooLong = this.#byteLength > LINE_BYTES_MAX;
    const bytes = Buffer.concat(this.#pieces);
    const length = this.#byteLength;
    const isTooDeep = this.#isTooDeep;
    this.#drop();
    const key = this.#key;
    const isList = this.#level === 2 || this.#closers[0] === CLOSING_BRACKET;
    if (isList) this.#isItemPerLine = line === this.#line;
    if (isTooDeep) {
      yield { line, problem: `nested deeper than ${JSON_DEPTH_MAX} levels` };
      return;
    }
    if (isTooLong || !isUtf8(bytes)) {
      const problem = isTooLong ? `${length} bytes long; a piece has at most ${LINE_BYTES_MAX}` : "not valid UTF-8";
      yield { line, problem };
      return;
    }
    const text = bytes.toString("utf8");
    if (text.trim() === "") return;
    const parsed = parseJson(isList ? text : `{${text}}`);
    if ("problem" in parsed) yield { line, ...parsed };
    else if (isList) yield { line, document: this.#document, key, value: parsed.value };
    else {
      for (const [name, value] of Object.entries(parsed.value ?? {})) {
        yield { line, document: this.#document, key: name, value };
      }
    }
  }

  #lose(reason: string): DamagedLine {
    const line = this.#elementLine ?? this.#line;
    this.#isLost = true;
    this.#closers.length = this.#level;
    this.#inString = false;
    this.#isEscaped = false;
    this.#drop();
    return { line, problem: `${reason}; skipped to the next item` };
  }
}
