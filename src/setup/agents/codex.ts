import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Machine } from "../../core/data-folder.ts";
import { StoreError } from "../../core/errors.ts";
import type { Edit } from "../edits.ts";
import { HOOK_TIMEOUT_S, type Hook, hookLine } from "../hook-lines.ts";
import { callOf, type OwnCommand } from "../own-command.ts";
import { skillFile } from "../skill.ts";
import { folderIn, type Target } from "../target.ts";

const HOOKS: readonly Hook[] = [
  // It also fires after a compaction, and its input says so.
  { moment: "SessionStart", event: "session-start" },
  { moment: "UserPromptSubmit", event: "prompt" },
  { moment: "Stop", event: "turn-end" },
  { moment: "PreCompact", event: "before-compaction" },
];

/** These match a file whose servers or hooks are values of a key. No table can be added at the end of such a file. */
const VALUES: readonly RegExp[] = [
  /^(?:(?!\s*\[).*\n)*?\s*["']?(?:mcp_servers|hooks)["']?[ \t]*[.=]/,
  /^\s*\[\s*["']?hooks["']?\s*\]\s*\n(?:(?!\s*\[).*\n)*?\s*["']?(?:SessionStart|UserPromptSubmit|Stop|PreCompact)["']?\s*=/m,
  /^\s*\[\s*["']?mcp_servers["']?\s*\]\s*\n(?:(?!\s*\[).*\n)*?\s*["']?coppice["']?\s*[.=]/m,
];
const HOOK =
  /^\[\[hooks\.(\w+)\]\]\nhooks = \[\{ type = "command", command = ("[^\n]* hook [^\n]*--agent codex.*"), timeout/gm;
const OWN_SERVER = /^\s*\[\s*["']?mcp_servers["']?\s*\.\s*["']?coppice["']?\s*[.\]]/m;

/** Tables at the end of `~/.codex/config.toml`. Codex runs the hooks after the person has trusted them. */
export const codex: Target = {
  name: "codex",
  title: "Codex",
  followedAs: "Codex",
  isUsed: (machine) => existsSync(home(machine)),
  edits: (machine, command) => [
    tables(configPath(machine), command),
    skillFile(join(home(machine), "skills"), command),
  ],
  next: "Start `codex` and trust the hooks of Coppice with /hooks. Until then, Codex silently skips them.",
  isTrusted(machine) {
    const path = configPath(machine);
    const config = existsSync(path) ? readFileSync(path, "utf8") : "";
    const lines = [...config.matchAll(HOOK)].map(([, moment, line]) => trustOf(moment!, JSON.parse(line!)));
    return lines.length > 0 && lines.every((trust) => config.includes(trust));
  },
};

function home(machine: Machine): string {
  return folderIn(machine, "CODEX_HOME", join(machine.home, ".codex"));
}

function configPath(machine: Machine): string {
  return join(home(machine), "config.toml");
}

function tables(path: string, command: OwnCommand): Edit {
  const [program, ...args] = callOf(command, "mcp");
  const server = `[mcp_servers.coppice]
command = ${JSON.stringify(program)}
args = ${JSON.stringify(args)}

`;
  const hooks = HOOKS.map(
    ({ moment, event }) => `[[hooks.${moment}]]
hooks = [{ type = "command", command = ${JSON.stringify(hookLine(command, event, "codex"))}, timeout = ${HOOK_TIMEOUT_S} }]
`,
  ).join("\n");
  return {
    path,
    insertionInto(text) {
      if (VALUES.some((values) => values.test(text))) {
        const reason = "its servers or hooks are written as values, to which no table can be added";
        throw new StoreError("FILE_NOT_USABLE", { path, reason, fix: `Add this by hand:\n${server}${hooks}` });
      }
      const start =
        "\n# `coppice setup` wrote the tables from here on, and `coppice setup --undo codex` removes them.\n";
      return { at: text.length, text: `${start}${OWN_SERVER.test(text) ? "" : server}${hooks}` };
    },
  };
}

/** Returns what Codex stores when the person trusts a hook: a digest of the hook, as JSON with sorted keys. */
export function trustOf(moment: string, line: string): string {
  const identity = {
    event_name: moment.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase(),
    hooks: [{ async: false, command: line, timeout: HOOK_TIMEOUT_S, type: "command" }],
  };
  return `sha256:${hash("sha256", JSON.stringify(identity))}`;
}
