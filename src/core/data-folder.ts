import { posix, win32 } from "node:path";

export interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  home: string;
}

/**
 * Returns the folder where Coppice keeps its files: `coppice` in the user's data folder. A relative `$XDG_DATA_HOME` is ignored, as
 * its specification requires.
 */
export function dataFolder({ env, platform, home }: Machine): string {
  if (platform === "win32") return win32.join(env.LOCALAPPDATA || win32.join(home, "AppData", "Local"), "coppice");
  if (platform === "darwin") return posix.join(home, "Library", "Application Support", "coppice");
  const given = env.XDG_DATA_HOME ?? "";
  return posix.join(posix.isAbsolute(given) ? given : posix.join(home, ".local", "share"), "coppice");
}
