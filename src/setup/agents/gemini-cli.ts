import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../../core/data-folder.ts";
import { ownJsonFile } from "../edits.ts";
import { HOOK_TIMEOUT_S, type Hook, hooksJson } from "../hook-lines.ts";
import { callOf } from "../own-command.ts";
import { skillFile } from "../skill.ts";
import { folderIn, type Target } from "../target.ts";

const HOOKS: readonly Hook[] = [
  { moment: "SessionStart", event: "session-start" },
  { moment: "BeforeAgent", event: "prompt" },
  { moment: "AfterAgent", event: "turn-end" },
  // With "auto", it fires before every request, whether history is compressed or not.
  { moment: "PreCompress", matcher: "manual", event: "before-compaction" },
  { moment: "SessionEnd", event: "turn-end" },
];

/** An extension in `~/.gemini/extensions/coppice`. Its version is fixed, so that an upgrade of Coppice changes no file. */
export const geminiCli: Target = {
  name: "gemini-cli",
  title: "Gemini CLI",
  followedAs: "Gemini CLI",
  isUsed: (machine) => existsSync(home(machine)),
  edits(machine, command) {
    const extension = join(home(machine), "extensions", "coppice");
    const [program, ...args] = callOf(command, "mcp");
    return [
      ownJsonFile(join(extension, "gemini-extension.json"), {
        name: "coppice",
        version: "1.0.0",
        mcpServers: { coppice: { command: program, args } },
      }),
      ownJsonFile(
        join(extension, "hooks", "hooks.json"),
        hooksJson(command, "gemini-cli", HOOKS, HOOK_TIMEOUT_S * 1_000),
      ),
      skillFile(join(extension, "skills"), command),
    ];
  },
};

function home(machine: Machine): string {
  return join(folderIn(machine, "GEMINI_CLI_HOME", machine.home), ".gemini");
}
