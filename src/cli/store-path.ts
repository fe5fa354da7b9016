import { homedir } from "node:os";
import { posix, win32 } from "node:path";

/** @param given  The value of `--db`, if any. */
export function storePath(given: string | undefined): string {
  return given ?? defaultStorePath({ env: process.env, platform: process.platform, home: homedir() });
}

interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  home: string;
}

/**
 * Returns the path for commands without `--db`: `$COPPICE_DB`, or else `coppice/agent.db` in the user's data folder. A relative
 * `$XDG_DATA_HOME` is ignored, as its specification requires.
 */
export function defaultStorePath(machine: Machine): string {
  const { join } = machine.platform === "win32" ? win32 : posix;
  return machine.env.COPPICE_DB || join(dataFolder(machine), "coppice", "agent.db");
}

function dataFolder({ env, platform, home }: Machine): string {
  if (platform === "win32") return env.LOCALAPPDATA || win32.join(home, "AppData", "Local");
  if (platform === "darwin") return posix.join(home, "Library", "Application Support");
  const given = env.XDG_DATA_HOME ?? "";
  return posix.isAbsolute(given) ? given : posix.join(home, ".local", "share");
}
