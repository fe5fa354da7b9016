/** In a line that is too long, the id of the request is looked for in this many bytes at each end. */
const END_BYTES = 512;

const ID = String.raw`"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)`;
/** Clients write the id of a request first or last. */
const ID_FIRST = new RegExp(String.raw`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?${ID}`);
const ID_LAST = new RegExp(String.raw`,\s*${ID}\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`);

/** A line that is too long, with the id of its request if it was found. */
export interface LongLine {
  id: string | number | null;
}

/** Splits a stream of bytes into lines. A line that is too long needs no more memory than the longest line allowed. */
export class LineSplitter {
  readonly #bytesMax: number;
  #pieces: Buffer[] = [];
  #byteLength = 0;
  /** The first bytes of a line that is too long. */
  #head: Buffer | undefined;

  /** @param bytesMax  The most bytes of a line, including the line break. */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  /** Yields the lines that end in a chunk, with their line breaks. */
  *linesOf(chunk: Buffer): Generator<Buffer | LongLine> {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#take(chunk.subarray(start, end + 1));
      yield this.#endLine();
      start = end + 1;
    }
    if (start < chunk.length) this.#take(chunk.subarray(start));
  }

  #take(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#byteLength += piece.length;
    if (this.#byteLength <= this.#bytesMax) return;
    const held = Buffer.concat(this.#pieces);
    this.#head ??= Buffer.from(held.subarray(0, END_BYTES));
    const tail = Buffer.from(held.subarray(-END_BYTES)); // a copy, so that the other bytes are freed
    this.#pieces = [tail];
    this.#byteLength = this.#bytesMax; // any further piece makes the line too long again
  }

  #endLine(): Buffer | LongLine {
    const line = Buffer.concat(this.#pieces);
    const head = this.#head;
    this.#pieces = [];
    this.#byteLength = 0;
    this.#head = undefined;
    return head === undefined ? line : { id: idIn(head.toString(), line.subarray(-END_BYTES).toString()) };
  }
}

function idIn(head: string, tail: string): string | number | null {
  const [, id] = ID_FIRST.exec(head) ?? ID_LAST.exec(tail) ?? [];
  try {
    return id === undefined ? null : JSON.parse(id);
  } catch {
    return null;
  }
}
