import type { HookEvent } from "../hooks/firing.ts";
import { callOf, type OwnCommand, shellLine } from "./own-command.ts";

/** Agents stop a hook that takes longer than this, in seconds. Before a compaction, a hook waits for an import. */
export const HOOK_TIMEOUT_S = 15;

export interface Hook {
  /** The agent's name for the event. */
  moment: string;
  event: HookEvent;
}

export function hookLine(command: OwnCommand, event: HookEvent, agent: string): string {
  return shellLine(callOf(command, "hook", event, "--agent", agent));
}

/** Makes a `hooks.json`, whose form several agents share. */
export function hooksJson(
  command: OwnCommand,
  agent: string,
  hooks: readonly Hook[],
  timeout = HOOK_TIMEOUT_S,
): object {
  const groups: Record<string, object[]> = {};
  for (const { moment, event } of hooks) {
    groups[moment] = [{ hooks: [{ type: "command", command: hookLine(command, event, agent), timeout }] }];
  }
  return { hooks: groups };
}
