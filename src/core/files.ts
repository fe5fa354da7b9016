import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, type Stats, statSync } from "node:fs";

/** Returns the stats of a path; undefined if there is no file or it cannot be accessed. */
export function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Returns the size of a file in bytes; 0 if there is none. */
export function byteLengthOf(path: string): number {
  return lookAt(path)?.size ?? 0;
}

/**
 * Opens a regular file. Anything else is refused at once: opening a pipe would wait for its other end, and a device may have no end.
 *
 * @param flags  Windows has no `O_NONBLOCK`, and no pipes among its files.
 */
export function openRegular(path: string, flags = constants.O_RDONLY): number {
  const descriptor = openSync(path, flags | constants.O_NONBLOCK, 0o600);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new Error(`${path} is no regular file.`);
}

/** Returns the last bytes of a regular file, at most `byteCount`, and how many bytes come before them. */
export function readEnd(path: string, byteCount: number): { bytes: Buffer; from: number } {
  const descriptor = openRegular(path);
  try {
    const { size } = fstatSync(descriptor);
    const from = Math.max(0, size - byteCount);
    const bytes = Buffer.alloc(size - from);
    return { bytes: bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, from)), from };
  } finally {
    closeSync(descriptor);
  }
}

/** Returns the text of a small regular file. */
export function readSmall(path: string, byteCountMax: number): string {
  const { bytes, from } = readEnd(path, byteCountMax);
  if (from > 0) throw new Error(`${path} is longer than ${byteCountMax} bytes.`);
  return bytes.toString("utf8");
}

/** Writes the names in a folder to the disk. Windows cannot open folders. */
export function flushFolder(path: string): void {
  if (process.platform !== "win32") flushToDisk(path);
}

export function flushToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
