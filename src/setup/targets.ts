import type { Machine } from "../core/data-folder.ts";
import { claudeCode } from "./agents/claude-code.ts";
import { codex } from "./agents/codex.ts";
import { geminiCli } from "./agents/gemini-cli.ts";
import { opencode } from "./agents/opencode.ts";
import { pi } from "./agents/pi.ts";
import { vscode } from "./agents/vscode.ts";
import type { WrittenFiles } from "./changes.ts";
import type { Target } from "./target.ts";

export const AGENTS: readonly Target[] = [claudeCode, codex, geminiCli, opencode, pi, vscode];

/** How an agent that is used on this machine is connected. */
export interface AgentReport {
  name: string;
  title: string;
  /** The agent's name in `agentLocations`; undefined if its transcripts are not read. */
  followedAs: string | undefined;
  hasHooks: boolean;
  isConnected: boolean;
  /** False if the agent skips the hooks until the person trusts them. */
  isTrusted: boolean;
  /** What the person has to do for that. */
  next: string | undefined;
  /** For how many days the agent keeps its transcripts; undefined if it deletes none. */
  kept: ReturnType<NonNullable<Target["keptDays"]>> | undefined;
}

export function agentReports(machine: Machine, files: WrittenFiles): AgentReport[] {
  return AGENTS.filter((agent) => agent.isUsed(machine)).map(
    ({ name, title, followedAs, hasHooks = true, next, isTrusted, keptDays }) => ({
      name,
      title,
      followedAs,
      hasHooks,
      isConnected: files.hasAllOf(name),
      isTrusted: isTrusted?.(machine) ?? true,
      next,
      kept: keptDays?.(machine),
    }),
  );
}
