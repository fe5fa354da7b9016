import { homedir } from "node:os";
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

/** The name of the folder in which agents run that Coppice calls itself. It tells these runs from a person's. */
const OWN_CALLS = "coppice-own-calls";

/** Returns the folder in which agents run that Coppice calls itself. */
export function ownCallsFolder(
  machine: Machine = { env: process.env, platform: process.platform, home: homedir() },
): string {
  return (machine.platform === "win32" ? win32 : posix).join(dataFolder(machine), OWN_CALLS);
}

/** Returns true for a folder, or a project, of agents that Coppice has called itself. What they write down is no history. */
export function isOfOwnCalls(folder: string): boolean {
  return folder.split(/[\\/]/).includes(OWN_CALLS);
}
