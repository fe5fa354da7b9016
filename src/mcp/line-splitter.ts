import { Transform, type TransformCallback } from "node:stream";

/** The number of bytes at each end of a too long line in which the request's id is looked for. */
const END_BYTES = 512;

const ID = String.raw`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)`;
/** Clients write the id of a request first or last. */
const ID_FIRST = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${ID}`);
const ID_LAST = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`);

/**
 * Splits a stream of bytes into whole lines. A line that is too long is skipped, and needs no more memory than the longest
 * line allowed.
 *
 * The SDK searches an unfinished line from its start with each chunk, and a line of 10 MB has hundreds of chunks. So the SDK
 * gets each line in one piece.
 */
export class LineSplitter extends Transform {
  readonly #bytesMax: number;
  readonly #onTooLong: (id: string | number | null) => void;
  #pieces: Buffer[] = [];
  #byteLength = 0;
  /** The first bytes of a line that is too long. */
  #head: Buffer | undefined;

  /**
   * @param bytesMax  The most bytes of a line, including the line break.
   * @param onTooLong  Called at the end of a longer line, with the id of the request if it was found.
   */
  constructor(bytesMax: number, onTooLong: (id: string | number | null) => void) {
    super();
    this.#bytesMax = bytesMax;
    this.#onTooLong = onTooLong;
  }

  override _transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#take(chunk.subarray(start, end + 1));
      this.#endLine();
      start = end + 1;
    }
    if (start < chunk.length) this.#take(chunk.subarray(start));
    done();
  }

  #take(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#byteLength += piece.length;
    if (this.#byteLength <= this.#bytesMax) return;
    const held = Buffer.concat(this.#pieces);
    this.#head ??= Buffer.from(held.subarray(0, END_BYTES));
    const tail = Buffer.from(held.subarray(-END_BYTES)); // a copy, so that the other bytes are freed
    this.#pieces = [tail];
    this.#byteLength = this.#bytesMax; // so that the next piece is too long as well
  }

  #endLine(): void {
    const line = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    if (this.#head === undefined) this.push(line);
    else this.#onTooLong(idIn(this.#head.toString(), line.subarray(-END_BYTES).toString()));
    this.#pieces = [];
    this.#byteLength = 0;
    this.#head = undefined;
  }
}

function idIn(head: string, tail: string): string | number | null {
  const [, id] = ID_FIRST.exec(head) ?? ID_LAST.exec(tail) ?? [];
  return id === undefined ? null : JSON.parse(id);
}
