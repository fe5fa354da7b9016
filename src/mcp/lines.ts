import { Transform, type TransformCallback } from "node:stream";

/** Of a line that is too long, the bytes at either end in which its id is looked for. */
const END_BYTES = 512;

const ID = String.raw`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)`;
/** Clients write the id of a request first or last. */
const ID_FIRST = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${ID}`);
const ID_LAST = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`);

/**
 * Whole lines of a stream of bytes, each in one piece, and none that is too long: such a one is passed over, however long it
 * is, in no more memory than the longest that is allowed.
 *
 * Whoever reads lines from the pieces that a pipe gives looks through a long one again at each of its pieces: at 10 MB these
 * are hundreds.
 */
export class Lines extends Transform {
  readonly #bytesMax: number;
  readonly #onTooLong: (id: string | number | null) => void;
  #pieces: Buffer[] = [];
  #byteLength = 0;
  /** The first bytes of a line that is too long. */
  #head: Buffer | undefined;

  /**
   * @param bytesMax  Of a line with its end.
   * @param onTooLong  Told at the end of one that is longer, with the id of the request that it was, if that could be found.
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
    const tail = Buffer.from(held.subarray(-END_BYTES)); // a copy: the rest may go
    this.#pieces = [tail];
    this.#byteLength = this.#bytesMax; // and the next piece is too much as well
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
