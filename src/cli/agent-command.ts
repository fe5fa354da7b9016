import type { Session } from "../session/session.ts";

/** How each agent continues one of its sessions. */
const RESUME: Readonly<Record<string, string>> = {
  "claude-code": "claude --resume",
  codex: "codex resume",
  "gemini-cli": "gemini --resume",
  "qwen-code": "qwen --resume",
  opencode: "opencode --session",
  pi: "pi --session",
  "copilot-cli": "copilot --session-id",
  "cline-cli": "cline --id",
  droid: "droid --resume",
  "cursor-agent": "cursor-agent --resume",
  omp: "omp --resume",
  amp: "amp threads continue",
  kimi: "kimi --session",
  goose: "goose session --resume --session-id",
};

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
  const command = RESUME[source ?? ""];
  const canResume = parentSessionId === null && externalId !== null && /^\w[\w-]*$/.test(externalId);
  return command === undefined || !canResume ? undefined : `${command} ${externalId}`;
}
