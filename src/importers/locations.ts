import { posix, win32 } from "node:path";

/** What the standard places of agents depend on. */
export interface AgentMachine {
  env: Readonly<Record<string, string | undefined>>;
  platform: NodeJS.Platform;
  /** The user's folder. */
  home: string;
}

/** Where an agent keeps its conversations, whether it is there or not. */
export interface AgentLocation {
  /** The agent's name. */
  agent: string;
  /** A folder, with everything below it, or a database. */
  path: string;
}

/**
 * Where the agents whose formats are known keep their conversations, as their own variables move them: `$CLAUDE_CONFIG_DIR`,
 * `$GEMINI_CLI_HOME`, `$CODEX_HOME`, and for opencode `$XDG_DATA_HOME`. One that is not absolute is passed over: it would mean
 * another folder wherever the agent was started.
 */
export function agentLocations({ env, platform, home }: AgentMachine): AgentLocation[] {
  const { join, isAbsolute } = platform === "win32" ? win32 : posix;
  const moved = (name: string, otherwise: string): string => {
    const given = env[name];
    return given !== undefined && isAbsolute(given) ? given : otherwise;
  };
  const codex = moved("CODEX_HOME", join(home, ".codex"));
  return [
    { agent: "Claude Code", path: join(moved("CLAUDE_CONFIG_DIR", join(home, ".claude")), "projects") },
    { agent: "Gemini CLI", path: join(moved("GEMINI_CLI_HOME", home), ".gemini", "tmp") },
    { agent: "Codex", path: join(codex, "sessions") },
    { agent: "Codex", path: join(codex, "archived_sessions") },
    { agent: "llxprt-code", path: join(home, ".llxprt", "tmp") },
    { agent: "opencode", path: join(moved("XDG_DATA_HOME", join(home, ".local", "share")), "opencode", "opencode.db") },
  ];
}
