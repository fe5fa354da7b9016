import { posix, win32 } from "node:path";
import type { Machine } from "../core/data-folder.ts";

/** A folder or file where an agent keeps its transcripts. It may not exist. */
export interface AgentLocation {
  agent: string;
  /** A folder, which stands for everything below it, or a database. */
  path: string;
}

/** Editors that run the extensions of Visual Studio Code. */
const EDITORS = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

/** Those of the editors that keep the chats of an agent of their own elsewhere. */
const OTHER_CHATS = /[\\/](?:Cursor|Windsurf)[\\/]User$/;

/**
 * Variables of the agents move the locations: the README lists them. A relative path is ignored, because it depends on where the agent
 * was started.
 */
export function agentLocations({ env, platform, home }: Machine): AgentLocation[] {
  const { join, isAbsolute } = platform === "win32" ? win32 : posix;
  const moved = (name: string, otherwise: string): string => {
    const given = env[name];
    return given !== undefined && isAbsolute(given) ? given : otherwise;
  };
  const settings =
    platform === "win32"
      ? moved("APPDATA", join(home, "AppData", "Roaming"))
      : platform === "darwin"
        ? join(home, "Library", "Application Support")
        : moved("XDG_CONFIG_HOME", join(home, ".config"));
  const pi = moved("PI_CODING_AGENT_DIR", join(home, ".pi", "agent"));
  const codex = moved("CODEX_HOME", join(home, ".codex"));
  const clineData = moved("CLINE_DATA_DIR", join(moved("CLINE_DIR", join(home, ".cline")), "data"));
  const userFolders = [
    ...EDITORS.map((editor) => join(settings, editor, "User")),
    join(home, ".vscode-server", "data", "User"),
  ];
  const tasksOf = (agent: string, extension: string): AgentLocation[] =>
    userFolders.map((folder) => ({ agent, path: join(folder, "globalStorage", extension, "tasks") }));
  const data = moved("XDG_DATA_HOME", join(home, ".local", "share"));
  const gooseRoot = moved("GOOSE_PATH_ROOT", "");
  const goose =
    gooseRoot !== ""
      ? join(gooseRoot, "data")
      : platform === "win32"
        ? join(settings, "Block", "goose", "data")
        : join(data, "goose");
  const zed =
    platform === "win32"
      ? join(moved("LOCALAPPDATA", join(home, "AppData", "Local")), "Zed")
      : platform === "darwin"
        ? join(settings, "Zed")
        : join(data, "zed");
  const chats = userFolders
    .filter((folder) => !OTHER_CHATS.test(folder))
    .flatMap((folder) => [join(folder, "workspaceStorage"), join(folder, "globalStorage", "emptyWindowChatSessions")])
    .map((path) => ({ agent: "Copilot Chat", path }));
  const openhands = moved("OPENHANDS_PERSISTENCE_DIR", join(home, ".openhands"));
  const qwen = moved("QWEN_RUNTIME_DIR", moved("QWEN_HOME", join(home, ".qwen")));
  return [
    { agent: "Claude Code", path: join(moved("CLAUDE_CONFIG_DIR", join(home, ".claude")), "projects") },
    { agent: "Gemini CLI", path: join(moved("GEMINI_CLI_HOME", home), ".gemini", "tmp") },
    { agent: "Codex", path: join(codex, "sessions") },
    { agent: "Codex", path: join(codex, "archived_sessions") },
    { agent: "llxprt-code", path: join(home, ".llxprt", "tmp") },
    { agent: "opencode", path: join(data, "opencode", "opencode.db") },
    { agent: "Cursor", path: join(settings, "Cursor", "User", "globalStorage", "state.vscdb") },
    { agent: "Copilot CLI", path: join(moved("COPILOT_HOME", join(home, ".copilot")), "session-state") },
    { agent: "pi", path: moved("PI_CODING_AGENT_SESSION_DIR", join(pi, "sessions")) },
    { agent: "Cline", path: join(clineData, "sessions") },
    { agent: "Cline", path: join(clineData, "tasks") },
    ...tasksOf("Cline", "saoudrizwan.claude-dev"),
    ...tasksOf("Roo Code", "rooveterinaryinc.roo-cline"),
    { agent: "Qwen Code", path: join(qwen, "projects") },
    { agent: "Qwen Code", path: join(qwen, "tmp") },
    { agent: "iFlow", path: join(home, ".iflow", "projects") },
    { agent: "Continue", path: join(moved("CONTINUE_GLOBAL_DIR", join(home, ".continue")), "sessions") },
    ...chats,
    { agent: "Goose", path: join(goose, "sessions") },
    { agent: "Droid", path: join(home, ".factory", "sessions") },
    { agent: "Kimi", path: join(moved("KIMI_SHARE_DIR", join(home, ".kimi")), "sessions") },
    { agent: "Kimi Code", path: join(moved("KIMI_CODE_HOME", join(home, ".kimi-code")), "sessions") },
    { agent: "Kiro", path: join(home, ".kiro", "sessions") },
    { agent: "OpenHands", path: moved("OPENHANDS_CONVERSATIONS_DIR", join(openhands, "conversations")) },
    { agent: "OpenHands", path: join(openhands, "sessions") },
    { agent: "Zed", path: join(zed, "threads", "threads.db") },
    { agent: "Amp", path: join(data, "amp", "threads") },
    { agent: "Oh My Pi", path: join(moved("OMP_CODING_AGENT_DIR", join(home, ".omp", "agent")), "sessions") },
    { agent: "Cursor", path: join(home, ".cursor", "projects") },
    { agent: "OpenClaw", path: join(moved("OPENCLAW_STATE_DIR", join(home, ".openclaw")), "agents") },
    { agent: "Grok", path: join(moved("GROK_HOME", join(home, ".grok")), "sessions") },
    ...["antigravity", "antigravity-ide", "antigravity-cli"].map((folder) => {
      return { agent: "Antigravity", path: join(home, ".gemini", folder, "brain") };
    }),
  ];
}
