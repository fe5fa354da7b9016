/**
 * A frame may need a window of this many bytes: RFC 8878 asks of each decompressor that much, and of each compressor no more. fzstd
 * allocates the window that the header names, up to 2 GB, and copies it for each block.
 */
export const WINDOW_BYTES_MAX = 8 * 1024 * 1024;

const MAGIC = 0xfd2fb528;
const SKIPPED_MAGIC = 0x184d2a50;
const CHECKSUM_BYTES = 4;
/** The kind of a block that is one byte, repeated. */
const RUN = 1;

export interface FrameFault {
  /** The bytes of the piece that are before the fault. */
  at: number;
  reason: string;
}

/** Follows the frames of a zstd file ahead of its decompressor, and finds windows that are too large. Other damage is not found. */
export class ZstdFrames {
  /** The bytes of a header that has begun. */
  readonly #header: number[] = [];
  #skipped = 0;
  #isInFrame = false;
  #hasChecksum = false;

  /** Follows the next bytes. */
  take(bytes: Uint8Array): FrameFault | undefined {
    for (let at = 0; at < bytes.length; ) {
      const passed = Math.min(this.#skipped, bytes.length - at);
      this.#skipped -= passed;
      at += passed;
      if (at === bytes.length) return undefined;
      this.#header.push(bytes[at]!);
      const windowBytes = this.#isInFrame ? this.#block() : this.#frame();
      if (windowBytes > WINDOW_BYTES_MAX) {
        return { at, reason: `needs a window of ${windowBytes} bytes; it may have ${WINDOW_BYTES_MAX}` };
      }
      at += 1;
    }
    return undefined;
  }

  /** A header that is cut off must not reach the decompressor, which would read a window of any size from it. */
  end(): FrameFault | undefined {
    return this.#header.length > 0 ? { at: 0, reason: "damaged: unexpected EOF" } : undefined;
  }

  /** Returns the size of the window if the header of a frame is whole, otherwise 0. */
  #frame(): number {
    const header = Buffer.from(this.#header);
    if (header.length < 4) return 0;
    const magic = header.readUInt32LE(0);
    if ((magic & ~0xf) >>> 0 === SKIPPED_MAGIC) {
      if (header.length === 8) this.#next(header.readUInt32LE(4));
      return 0;
    }
    // The decompressor refuses everything else, so it is not followed.
    if (magic !== MAGIC) this.#next(Number.POSITIVE_INFINITY);
    if (header.length < 5) return 0;
    const flags = header[4]!;
    const isSingle = (flags & 0x20) > 0;
    const sizeAt = (isSingle ? 5 : 6) + [0, 1, 2, 4][flags & 3]!;
    const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6]!;
    if (header.length < sizeAt + sizeBytes) return 0;
    this.#isInFrame = true;
    this.#hasChecksum = (flags & 4) > 0;
    this.#next(0);
    if (isSingle) return sizeOf(header.subarray(sizeAt));
    const base = 2 ** (10 + (header[5]! >> 3));
    return base + (base / 8) * (header[5]! & 7);
  }

  #block(): number {
    const [first = 0, second, third] = this.#header;
    if (second === undefined || third === undefined) return 0;
    const size = (first >> 3) | (second << 5) | (third << 13);
    const isLast = (first & 1) > 0;
    this.#isInFrame = !isLast;
    this.#next((((first >> 1) & 3) === RUN ? 1 : size) + (isLast && this.#hasChecksum ? CHECKSUM_BYTES : 0));
    return 0;
  }

  #next(skipped: number): void {
    this.#header.length = 0;
    this.#skipped = skipped;
  }
}

/** Returns the size of the content, which is the window of a frame of one segment. */
function sizeOf(bytes: Buffer): number {
  if (bytes.length === 8) return Number(bytes.readBigUInt64LE());
  const size = bytes.readUIntLE(0, bytes.length);
  return bytes.length === 2 ? size + 256 : size;
}
