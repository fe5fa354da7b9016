import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../../core/data-folder.ts";
import { ownJsonFile } from "../edits.ts";
import { type Hook, hooksJson } from "../hook-lines.ts";
import { callOf } from "../own-command.ts";
import { skillFile } from "../skill.ts";
import { folderIn, type Target } from "../target.ts";

const HOOKS: readonly Hook[] = [
  // It also fires after a compaction, and its input says so.
  { moment: "SessionStart", event: "session-start" },
  { moment: "UserPromptSubmit", event: "prompt" },
  { moment: "PreToolUse", matcher: "Edit|MultiEdit|Write|NotebookEdit|Bash", event: "before-action" },
  { moment: "Stop", event: "turn-end" },
  // This imports what Claude Code writes after the last answer.
  { moment: "SessionEnd", event: "turn-end" },
  { moment: "PreCompact", event: "before-compaction" },
];

const DEFAULT_KEPT_DAYS = 30;

/**
 * A plugin in `~/.claude/skills/coppice`. Claude Code loads the plugins of this folder by itself. The README says why it is
 * neither a marketplace nor lines in Claude Code's settings.
 */
export const claudeCode: Target = {
  name: "claude-code",
  title: "Claude Code",
  followedAs: "Claude Code",
  isUsed: (machine) => existsSync(home(machine)),
  keptDays(machine) {
    const path = join(home(machine), "settings.json");
    const setting = "cleanupPeriodDays";
    const days = jsonIn(path)?.[setting];
    return { days: typeof days === "number" ? days : DEFAULT_KEPT_DAYS, setting, path };
  },
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
      skillFile(join(plugin, "skills"), command),
    ];
    if (hasServer(machine)) return edits;
    return [...edits, ownJsonFile(join(plugin, ".mcp.json"), { mcpServers: { coppice: { command: program, args } } })];
  },
};

function home(machine: Machine): string {
  return folderIn(machine, "CLAUDE_CONFIG_DIR", join(machine.home, ".claude"));
}

/** Returns true if the person has added the server, as with `claude mcp add --scope user`. With two, agents see each tool twice. */
function hasServer(machine: Machine): boolean {
  const path = join(folderIn(machine, "CLAUDE_CONFIG_DIR", machine.home), ".claude.json");
  return jsonIn(path)?.mcpServers?.coppice !== undefined;
}

/** Returns what a file of JSON says; undefined if there is none, or if it cannot be read. */
function jsonIn(path: string) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}
