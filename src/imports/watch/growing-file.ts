import type { Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const CHUNK_BYTES = 256 * 1024;

/** The last bytes that were read, up to this many, are compared with the file. In a rewritten file they differ. */
const SEAM_BYTES = 4 * 1024;

/** `other` means that the file was replaced, cut back or rewritten. Its bytes are not passed on. */
export type Growth = "same" | "grown" | "other";

/**
 * A file that others append to. Each look reads the bytes that were added since the last look. A replaced or rewritten file is
 * recognized by its inode, a smaller size, or different bytes before the new ones. A file of the same size counts as rewritten if
 * its modification time has changed.
 */
export class GrowingFile {
  readonly #path: string;
  #offset = 0;
  #seam: Buffer = Buffer.alloc(0);
  #seen: Stats | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Unix milliseconds; 0 before the first look. */
  get writtenAtMs(): number {
    return this.#seen?.mtimeMs ?? 0;
  }

  /**
   * Reads the added bytes. If `take` throws, the look ends, and the bytes that `take` got count as read.
   *
   * @param take  Gets the bytes in order, in chunks of at most 256 KiB. Returns false to end the look.
   * @throws errors of the file system, such as `ENOENT`.
   */
  async look(take: (chunk: Buffer) => Promise<boolean>): Promise<Growth> {
    const handle = await open(this.#path);
    try {
      const found = await handle.stat();
      if (this.#seen !== undefined) {
        const { ino, dev, mtimeMs } = this.#seen;
        if (found.ino !== ino || found.dev !== dev || found.size < this.#offset) return "other";
        if (found.size === this.#offset) return found.mtimeMs === mtimeMs ? "same" : "other";
        if (!(await this.#isContinued(handle))) return "other";
      }
      // The modification time must not be newer than the bytes that were read, so reading goes on if the file has grown since.
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

  async #readOn(handle: FileHandle, take: (chunk: Buffer) => Promise<boolean>): Promise<boolean> {
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, this.#offset);
      if (bytesRead === 0) return true;
      const chunk = buffer.subarray(0, bytesRead);
      this.#offset += bytesRead;
      this.#seam = Buffer.concat([this.#seam, chunk.subarray(-SEAM_BYTES)]).subarray(-SEAM_BYTES);
      if (!(await take(chunk))) return false;
    }
  }
}
