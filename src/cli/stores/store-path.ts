import { homedir } from "node:os";
import { posix, win32 } from "node:path";
import { dataFolder, type Machine } from "../../core/data-folder.ts";

/** Returns the path of the store. @param given  The value of `--db`, if any. */
export function storePath(given: string | undefined): string {
  return given ?? defaultStorePath({ env: process.env, platform: process.platform, home: homedir() });
}

/** Returns the path for commands without `--db`: `$COPPICE_DB`, or else `agent.db` in the folder of Coppice. */
export function defaultStorePath(machine: Machine): string {
  const { join } = machine.platform === "win32" ? win32 : posix;
  return machine.env.COPPICE_DB || join(dataFolder(machine), "agent.db");
}
