import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../../core/data-folder.ts";
import { ownJsonFile } from "../edit.ts";
import { type Hook, hooksJson } from "../hook-lines.ts";
import { callOf } from "../own-command.ts";
import { folderIn, type Target } from "../target.ts";

const HOOKS: readonly Hook[] = [
  // Also after a compaction; its input says so.
  { moment: "SessionStart", event: "session-start" },
  { moment: "UserPromptSubmit", event: "prompt" },
  { moment: "Stop", event: "turn-end" },
  // What Claude Code writes after the last answer.
  { moment: "SessionEnd", event: "turn-end" },
  { moment: "PreCompact", event: "before-compaction" },
];

/**
 * A plugin in `~/.claude/skills/coppice`. Claude Code loads the plugins of this folder by itself, also with `-p`. A marketplace
 * would have to be added and trusted, leaves files behind when it is removed, and is copied to a folder whose name is a version.
 * Hooks and servers in `settings.json` and `.claude.json` would be lines in files that Claude Code writes itself.
 */
export const claudeCode: Target = {
  name: "claude-code",
  title: "Claude Code",
  followedAs: "Claude Code",
  isUsed: (machine) => existsSync(home(machine)),
  edits(machine, command) {
    const plugin = join(home(machine), "skills", "coppice");
    const [program, ...args] = callOf(command, "mcp");
    const edits = [
      ownJsonFile(join(plugin, ".claude-plugin", "plugin.json"), {
        name: "coppice",
        description: "What was said, done and decided in earlier sessions, recalled by itself and on request.",
        author: { name: "Coppice" },
        homepage: "https://github.com/coppice-memory/coppice#readme",
        license: "MIT",
      }),
      ownJsonFile(join(plugin, "hooks", "hooks.json"), hooksJson(command, "claude-code", HOOKS)),
    ];
    if (hasServer(machine)) return edits;
    return [...edits, ownJsonFile(join(plugin, ".mcp.json"), { mcpServers: { coppice: { command: program, args } } })];
  },
};

function home(machine: Machine): string {
  return folderIn(machine, "CLAUDE_CONFIG_DIR", join(machine.home, ".claude"));
}

/** True if the person has added the server, as with `claude mcp add --scope user`. The agent would see its tools twice. */
function hasServer(machine: Machine): boolean {
  const path = join(folderIn(machine, "CLAUDE_CONFIG_DIR", machine.home), ".claude.json");
  if (!existsSync(path)) return false;
  try {
    return JSON.parse(readFileSync(path, "utf8")).mcpServers?.coppice !== undefined;
  } catch {
    return false;
  }
}
