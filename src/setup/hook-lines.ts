import type { HookEvent } from "../hooks/firing.ts";
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
