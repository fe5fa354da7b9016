import { copyFileSync, existsSync } from "node:fs";

/** Copy a store's file and what stands in its write-ahead log: all that a process leaves behind that dies. */
export function copyStore(path: string, target: string): string {
  for (const suffix of ["", "-wal"]) if (existsSync(path + suffix)) copyFileSync(path + suffix, target + suffix);
  return target;
}
