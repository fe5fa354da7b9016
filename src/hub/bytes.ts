import { DamageError } from "../core/damage.ts";
/** Writes texts, and numbers as varints: 7 bits in each byte, lowest first. All bytes except the last have the top bit set. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafe(1_024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** @param value  A whole number from 0 to 2^53 - 1. */
  number(value: number): void {
    this.#reserve(8);
    let left = value;
    for (; left >= 0x80; left = Math.floor(left / 128)) this.#bytes[this.#length++] = (left % 128) | 0x80;
    this.#bytes[this.#length++] = left;
  }

  /** A whole number of either sign, of at most 52 bits. */
  signed(value: number): void {
    this.number(value < 0 ? -2 * value - 1 : 2 * value);
  }

  text(value: string): void {
    const byteLength = Buffer.byteLength(value);
    this.number(byteLength);
    this.#reserve(byteLength);
    this.#length += this.#bytes.write(value, this.#length);
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** Returns the bytes that were written, and empties the writer. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#length));
    this.#length = 0;
    return taken;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#length + count));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}

/** Reads what a `ByteWriter` wrote. Every method throws `DamageError` for bytes that no writer wrote. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at: number;
  readonly #end: number;

  constructor(bytes: Buffer, from = 0, to = bytes.length) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
  }

  get at(): number {
    return this.#at;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#end;
  }

  number(): number {
    if (this.#at < this.#end && this.#bytes[this.#at]! < 0x80) return this.#bytes[this.#at++]!;
    let value = 0;
    for (let unit = 1; this.#at < this.#end; unit *= 128) {
      const byte = this.#bytes[this.#at++]!;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      if (unit > Number.MAX_SAFE_INTEGER) break;
    }
    throw damaged("a number does not end");
  }

  signed(): number {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Reads how many values follow. Each has at least one byte, so that a damaged count is noticed. */
  count(): number {
    const count = this.number();
    if (count > this.#end - this.#at) throw damaged("it counts more than it has room for");
    return count;
  }

  text(): string {
    const { from, to } = this.skip();
    return this.#bytes.toString("utf8", from, to);
  }

  /** Reads a length, skips as many bytes, and returns where they begin and end. */
  skip(): { from: number; to: number } {
    const length = this.count();
    const from = this.#at;
    this.#at += length;
    return { from, to: this.#at };
  }
}

export function damaged(reason: string): DamageError {
  return new DamageError(`the word index of the hub is damaged: ${reason}`);
}
