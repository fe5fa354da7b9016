import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { StoreError } from "./errors.ts";

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

export function readSmall(path: string, byteCountMax: number): string {
  const { bytes, from } = readEnd(path, byteCountMax);
  if (from > 0) throw new Error(`${path} is longer than ${byteCountMax} bytes.`);
  return bytes.toString("utf8");
}

/** Replaces a small file that only its owner may read, in one step, and makes its folder if that is missing. */
export function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const written = `${path}.${process.pid}`;
  writeFileSync(written, text, { mode: 0o600 });
  renameSync(written, path);
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

/**
 * Looks at the path of a file to be made. @param source  The store that it is made from.
 *
 * @throws {StoreError} `FILE_EXISTS` unless `overwrite` is given, `FILE_NOT_FOUND` if the folder is missing, `FILE_NOT_USABLE`.
 */
export function checkTarget(target: string, source: string, overwrite: boolean): void {
  const refuse = (reason: string): never => {
    throw new StoreError("FILE_NOT_USABLE", { path: target, reason });
  };
  const folder = dirname(target);
  if (!existsSync(folder)) throw new StoreError("FILE_NOT_FOUND", { path: folder });
  const found = inFileSystem(target, () => lstatSync(target, { throwIfNoEntry: false }));
  if (found?.isDirectory()) refuse("it is a folder; give the path of a file in it");
  if (found !== undefined && isSameFile(target, source)) refuse("it is the store itself");
  if (found !== undefined && !overwrite) throw new StoreError("FILE_EXISTS", { path: target });
  if (found !== undefined && !found.isFile() && !found.isSymbolicLink()) refuse("it is not a regular file");
  for (const beside of [`${target}-wal`, `${target}-journal`]) {
    // SQLite would write old pages of the other database into the copy.
    if (existsSync(beside)) refuse(`${beside} belongs to a database that is, or was, at this path`);
  }
}

function isSameFile(target: string, source: string): boolean {
  const [left, right] = [lookAt(target), lookAt(source)];
  return left !== undefined && left.ino === right?.ino && left.dev === right.dev;
}

/** Gives a finished file its name, and flushes it. @param overwrite  False to throw `FILE_EXISTS` if the name is taken. */
export function moveIntoPlace(copy: string, target: string, overwrite: boolean): void {
  if (overwrite) renameSync(copy, target);
  else {
    try {
      linkSync(copy, target); // unlike a rename, it never replaces a file
    } catch (error) {
      // Some file systems have no links. There, a file that appears after this check would be replaced.
      if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) {
        throw new StoreError("FILE_EXISTS", { path: target }, { cause: error });
      }
      renameSync(copy, target);
    }
  }
  flushFolder(dirname(target));
}

/** Failures of the target's disk become `FILE_NOT_USABLE`. */
export function inFileSystem<T>(target: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    // "ENOSPC: no space left on device, write"
    const reason = `${/^\w+: ([^,]+)/.exec(message)?.[1] ?? message} (${code ?? "unknown"})`;
    throw new StoreError("FILE_NOT_USABLE", { path: target, reason }, { cause: error });
  }
}
