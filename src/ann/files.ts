import { createHash } from "node:crypto";
import { closeSync, createReadStream, lstatSync, openSync, readSync } from "node:fs";
import { lookAt } from "../core/files.ts";

const CHUNK_BYTES = 1 << 20;

/** Returns a text that differs for each version of a file; undefined if the file cannot be found. */
export function versionOf(path: string): string | undefined {
  const stats = lookAt(path);
  return stats && `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}

/**
 * Returns the first 16 bytes of a file, one character for each; undefined if the path is not a plain file.
 *
 * @throws if it cannot be read.
 */
export function firstBytesOf(path: string): string | undefined {
  if (lstatSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  const descriptor = openSync(path, "r");
  try {
    const start = Buffer.alloc(16);
    return start.toString("latin1", 0, readSync(descriptor, start));
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the SHA-256 of a file in hexadecimal. */
export function sha256Of(path: string): string {
  const descriptor = openSync(path, "r");
  try {
    const hash = createHash("sha256");
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let read = readSync(descriptor, chunk); read > 0; read = readSync(descriptor, chunk)) {
      hash.update(chunk.subarray(0, read));
    }
    return hash.digest("hex");
  } finally {
    closeSync(descriptor);
  }
}

/** Does what `sha256Of` does, and yields to the event loop between chunks. */
export async function sha256InTurns(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
