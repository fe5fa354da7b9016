import { chmodSync, chownSync } from "node:fs";

/** On Linux and macOS the superuser may use every file, whatever its mode says. This is who may not. */
const NOBODY = 65_534;

/** Run without the superuser's right to use every file. */
export function asNobody<T>(run: () => T): T {
  const uid = process.geteuid!();
  if (uid !== 0) return run();
  process.seteuid!(NOBODY);
  try {
    return run();
  } finally {
    process.seteuid!(uid);
  }
}

/** Give a file or folder to whom `asNobody` runs as, with this mode. */
export function handOver(path: string, mode: number): void {
  if (process.geteuid!() === 0) chownSync(path, NOBODY, NOBODY);
  chmodSync(path, mode);
}
