import { posix, win32 } from "node:path";

export interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  home: string;
}

/**
 * The store of a command without `--db`: `$COPPICE_DB`, else `coppice/agent.db` in the folder where the user's programs
 * keep their data: `$XDG_DATA_HOME` or `~/.local/share`, `~/Library/Application Support` on macOS, `%LOCALAPPDATA%` on
 * Windows. As its specification asks, an XDG_DATA_HOME that is not absolute is passed over.
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
