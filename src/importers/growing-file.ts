import type { Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const CHUNK_BYTES = 256 * 1024;

/** How much of what was read last is compared before more is read: a file that was written anew does not have it there. */
const SEAM_BYTES = 4 * 1024;

/**
 * What a look at a file found: as it was, longer, or another file: put in its place, cut back, or written anew. Of another one
 * nothing is read.
 */
export type Growth = "same" | "grown" | "other";

/**
 * A file that others append to, read piece by piece: each look reads what has come since the last.
 *
 * It is opened for each look only, so that any number can be followed, and a file that is moved away or deleted is let go of.
 * Another file under its name is told by its inode, by a size below what was read, by what stands before the new bytes, and
 * where nothing was added by the time of its last change.
 */
export class GrowingFile {
  readonly path: string;
  #offset = 0;
  #seam: Buffer = Buffer.alloc(0);
  #seen: Stats | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** When what was read last was written, in Unix milliseconds; 0 where nothing was read. */
  get writtenAtMs(): number {
    return this.#seen?.mtimeMs ?? 0;
  }

  /** Bytes read so far. */
  get byteLength(): number {
    return this.#offset;
  }

  /**
   * Read what has come. Whatever `take` throws ends the look; what it was given counts as read.
   *
   * @param take  Is given the new bytes in chunks of at most 256 KiB, in order, each when it is done with the one before; says
   *   whether it wants more of them.
   * @throws what the file system says, such as `ENOENT`.
   */
  async look(take: (chunk: Buffer) => Promise<boolean>): Promise<Growth> {
    const handle = await open(this.path);
    try {
      const found = await handle.stat();
      if (this.#seen !== undefined) {
        const { ino, dev, mtimeMs } = this.#seen;
        if (found.ino !== ino || found.dev !== dev || found.size < this.#offset) return "other";
        if (found.size === this.#offset) return found.mtimeMs === mtimeMs ? "same" : "other";
        if (!(await this.#isContinued(handle))) return "other";
      }
      // Where more comes while it is read, the time of its last change is that of bytes that were not read.
      let now = found;
      let isWanted: boolean;
      do {
        isWanted = await this.#readOn(handle, take);
        now = await handle.stat();
      } while (isWanted && now.size > this.#offset);
      this.#seen = now;
      return "grown";
    } finally {
      await handle.close();
    }
  }

  async #isContinued(handle: FileHandle): Promise<boolean> {
    const { buffer, bytesRead } = await handle.read(
      Buffer.alloc(this.#seam.length),
      0,
      this.#seam.length,
      this.#offset - this.#seam.length,
    );
    return buffer.subarray(0, bytesRead).equals(this.#seam);
  }

  /** @returns whether more is wanted. */
  async #readOn(handle: FileHandle, take: (chunk: Buffer) => Promise<boolean>): Promise<boolean> {
    for (;;) {
      // A buffer of its own for each chunk: a reader may keep pieces of it until a long line ends.
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, this.#offset);
      if (bytesRead === 0) return true;
      const chunk = buffer.subarray(0, bytesRead);
      this.#offset += bytesRead;
      this.#seam = Buffer.concat([this.#seam, chunk.subarray(-SEAM_BYTES)]).subarray(-SEAM_BYTES);
      if (!(await take(chunk))) return false;
    }
  }
}
