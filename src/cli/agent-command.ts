import { resumeCommand } from "../importers/formats.ts";
import type { Session } from "../session/session.ts";

/** How each agent begins a session with a prompt, and stays in the terminal. opencode waits until the user sends the prompt. */
export const START = {
  claude: ["claude"],
  codex: ["codex"],
  gemini: ["gemini", "--prompt-interactive"],
  opencode: ["opencode", "--prompt"],
  pi: ["pi"],
} as const;

export type StartedAgent = keyof typeof START;

/** Returns the command that continues an imported session in the agent that it came from; undefined if there is none. */
export function agentCommand(session: ReturnType<Session["info"]>): string | undefined {
  const { source, externalId, parentSessionId } = session;
  if (source === null || externalId === null || parentSessionId !== null) return undefined;
  return /^\w[\w-]*$/.test(externalId) ? resumeCommand(source, externalId) : undefined;
}
