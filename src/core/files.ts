import { closeSync, fsyncSync, openSync, type Stats, statSync } from "node:fs";

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

export function flushToDisk(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
