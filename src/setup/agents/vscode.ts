import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../../core/data-folder.ts";
import { jsonMember } from "../edits.ts";
import { callOf } from "../own-command.ts";
import { folderIn, type Target } from "../target.ts";

/** A member of the user's `mcp.json`. VS Code has no hooks. */
export const vscode: Target = {
  name: "vscode",
  title: "VS Code",
  hasHooks: false,
  isUsed: (machine) => existsSync(home(machine)),
  edits(machine, command) {
    const [program, ...args] = callOf(command, "mcp");
    return [
      jsonMember(join(home(machine), "mcp.json"), "servers", "coppice", { type: "stdio", command: program, args }),
    ];
  },
};

function home(machine: Machine): string {
  if (machine.platform === "darwin") return join(machine.home, "Library", "Application Support", "Code", "User");
  if (machine.platform === "win32") {
    return join(folderIn(machine, "APPDATA", join(machine.home, "AppData", "Roaming")), "Code", "User");
  }
  return join(folderIn(machine, "XDG_CONFIG_HOME", join(machine.home, ".config")), "Code", "User");
}
