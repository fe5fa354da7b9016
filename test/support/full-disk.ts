import { execFileSync } from "node:child_process";

/** Only there can a running process be given a limit (prlimit of util-linux). It takes no privileges. */
export const canFillDisk = process.platform === "linux";

/**
 * Run while no file of this process can grow past `bytes`: a write across that line is cut short, and the next one fails.
 * It is what a full disk does, but that it can be put at any byte, with another error number (EFBIG, not ENOSPC).
 */
export async function onFullDisk<T>(bytes: number, run: () => T): Promise<Awaited<T>> {
  limitFiles(String(bytes));
  try {
    return await run();
  } finally {
    limitFiles("unlimited");
  }
}

function limitFiles(bytes: string): void {
  execFileSync("prlimit", ["--pid", String(process.pid), `--fsize=${bytes}:`]);
}
