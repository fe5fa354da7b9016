import type { HookEvent } from "../hooks/firing.ts";
import { type Edit, ownFile } from "./edits.ts";
import { callOf, type OwnCommand, type Shell, shellLine } from "./own-command.ts";

/** Agents stop a hook that takes longer than this, in seconds. Before a compaction, a hook waits for an import. */
export const HOOK_TIMEOUT_S = 15;

export interface Hook {
  /** The agent's name for the event. */
  moment: string;
  /** The hook fires only if this is what the agent says caused the event. */
  matcher?: string;
  event: HookEvent;
}

const WINDOWS_SHELLS: Readonly<Record<string, Shell>> = {
  "claude-code": "git-bash",
  "gemini-cli": "powershell",
  codex: "cmd",
};

export function hookLine(
  command: OwnCommand,
  event: HookEvent,
  agent: string,
  platform: NodeJS.Platform = process.platform,
): string {
  const shell = platform === "win32" ? WINDOWS_SHELLS[agent] : "sh";
  return shellLine(callOf(command, "hook", event, "--agent", agent), shell);
}

/** Makes a `hooks.json`, whose form several agents share. */
export function hooksJson(
  command: OwnCommand,
  agent: string,
  hooks: readonly Hook[],
  timeout = HOOK_TIMEOUT_S,
): object {
  const groups: Record<string, object[]> = {};
  for (const { moment, event, ...matcher } of hooks) {
    groups[moment] = [{ ...matcher, hooks: [{ type: "command", command: hookLine(command, event, agent), timeout }] }];
  }
  return { hooks: groups };
}

/**
 * Makes the source of a plugin that runs inside an agent. `ask(event, input)` in it asks `coppice hook`, whose input is
 * `{ session_id, cwd, prompt? }` and whose answer is `{ text? }`.
 */
export function pluginFile(path: string, agent: string, command: OwnCommand, source: string): Edit {
  return ownFile(
    path,
    `// \`coppice setup\` wrote this file, and \`coppice setup --undo ${agent}\` removes it.
import { spawn } from "node:child_process";

const PROGRAM = ${JSON.stringify(command.program)};
const STORE = ${JSON.stringify(command.store)};

/** Returns what Coppice says, or "". If anything goes wrong, the agent goes on without it. */
function ask(event, input) {
  return new Promise((resolve) => {
    const shell = process.platform === "win32"; // where a command may be a script
    const call = [...PROGRAM, "hook", event, "--agent", ${JSON.stringify(agent)}, ...STORE];
    const [program, ...words] = call.map((word) => (shell ? '"' + word + '"' : word));
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], timeout: ${HOOK_TIMEOUT_S * 1_000}, shell });
    let output = "";
    child.on("error", () => resolve(""));
    child.on("close", () => {
      try {
        resolve(JSON.parse(output).text ?? "");
      } catch {
        resolve("");
      }
    });
    child.stdout.setEncoding("utf8").on("data", (piece) => {
      output += piece;
    });
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(input));
  }).catch(() => "");
}

${source}`,
  );
}
