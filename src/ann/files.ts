import { createHash } from "node:crypto";
import {
  closeSync,
  createReadStream,
  fsyncSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  statSync,
} from "node:fs";

const CHUNK_BYTES = 1 << 20;

/** Tells one version of a file from the next. */
export function identityOf({ dev, ino, size, mtimeMs }: Stats): string {
  return `${dev} ${ino} ${size} ${mtimeMs}`;
}

/** Undefined where nothing can be found, for whatever reason. */
export function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** The first 16 bytes of a file, a character each; undefined of what is no plain file. @throws where it cannot be read. */
export function startOf(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const descriptor = openSync(path, "r");
  try {
    const start = Buffer.alloc(16);
    return start.toString("latin1", 0, readSync(descriptor, start, 0, start.byteLength, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** SHA-256 of what is in a file, in hexadecimal. */
export function sha256Of(path: string): string {
  const descriptor = openSync(path, "r");
  try {
    const hash = createHash("sha256");
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const read = readSync(descriptor, chunk, 0, CHUNK_BYTES, null);
      if (read === 0) return hash.digest("hex");
      hash.update(chunk.subarray(0, read));
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The same, with other work of this process in between. */
export async function sha256InTurns(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}

/** Wait until it is on the disk. */
export function flush(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** @returns whether it is gone. */
export function removeQuietly(path: string): boolean {
  try {
    rmSync(path, { force: true });
    return true;
  } catch {
    return false;
  }
}
