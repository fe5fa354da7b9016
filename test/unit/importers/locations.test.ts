import { expect, test } from "vitest";
import { AGENT_NAMES } from "../../../src/importers/formats.ts";
import { agentLocations } from "../../../src/importers/locations.ts";

const pathsOf = (machine: Parameters<typeof agentLocations>[0]) => agentLocations(machine).map(({ path }) => path);

/** The folders of an extension in each editor. */
function tasks(agent: string, extension: string, settings = "/home/mira/.config") {
  const editors = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];
  return [...editors.map((editor) => `${settings}/${editor}`), "/home/mira/.vscode-server/data"].map((folder) => {
    return { agent, path: `${folder}/User/globalStorage/${extension}/tasks` };
  });
}

/** The folders of chats in each editor that runs Copilot. */
function chats(settings = "/home/mira/.config") {
  const editors = ["Code", "Code - Insiders", "VSCodium"].map((editor) => `${settings}/${editor}`);
  return [...editors, "/home/mira/.vscode-server/data"].flatMap((folder) =>
    ["workspaceStorage", "globalStorage/emptyWindowChatSessions"].map((name) => {
      return { agent: "Copilot Chat", path: `${folder}/User/${name}` };
    }),
  );
}

test("agents keep their conversations below the user's folder", () => {
  expect(agentLocations({ env: {}, platform: "linux", home: "/home/mira" })).toEqual([
    { agent: "Claude Code", path: "/home/mira/.claude/projects" },
    { agent: "Gemini CLI", path: "/home/mira/.gemini/tmp" },
    { agent: "Codex", path: "/home/mira/.codex/sessions" },
    { agent: "Codex", path: "/home/mira/.codex/archived_sessions" },
    { agent: "llxprt-code", path: "/home/mira/.llxprt/tmp" },
    { agent: "opencode", path: "/home/mira/.local/share/opencode/opencode.db" },
    { agent: "Cursor", path: "/home/mira/.config/Cursor/User/globalStorage/state.vscdb" },
    { agent: "Copilot CLI", path: "/home/mira/.copilot/session-state" },
    { agent: "pi", path: "/home/mira/.pi/agent/sessions" },
    { agent: "Cline", path: "/home/mira/.cline/data/sessions" },
    { agent: "Cline", path: "/home/mira/.cline/data/tasks" },
    ...tasks("Cline", "saoudrizwan.claude-dev"),
    ...tasks("Roo Code", "rooveterinaryinc.roo-cline"),
    { agent: "Qwen Code", path: "/home/mira/.qwen/projects" },
    { agent: "Qwen Code", path: "/home/mira/.qwen/tmp" },
    { agent: "Continue", path: "/home/mira/.continue/sessions" },
    ...chats(),
    { agent: "Goose", path: "/home/mira/.local/share/goose/sessions" },
    { agent: "Droid", path: "/home/mira/.factory/sessions" },
    { agent: "Kimi", path: "/home/mira/.kimi/sessions" },
    { agent: "Zed", path: "/home/mira/.local/share/zed/threads/threads.db" },
    { agent: "Amp", path: "/home/mira/.local/share/amp/threads" },
    { agent: "Oh My Pi", path: "/home/mira/.omp/agent/sessions" },
    { agent: "Cursor", path: "/home/mira/.cursor/projects" },
    { agent: "OpenClaw", path: "/home/mira/.openclaw/agents" },
    { agent: "Grok", path: "/home/mira/.grok/sessions" },
    { agent: "Antigravity", path: "/home/mira/.gemini/antigravity/brain" },
    { agent: "Antigravity", path: "/home/mira/.gemini/antigravity-ide/brain" },
    { agent: "Antigravity", path: "/home/mira/.gemini/antigravity-cli/brain" },
  ]);
  expect(pathsOf({ env: {}, platform: "win32", home: "C:\\Users\\mira" })[0]).toBe(
    "C:\\Users\\mira\\.claude\\projects",
  );
  expect(pathsOf({ env: {}, platform: "win32", home: "C:\\Users\\mira" })).toContain(
    "C:\\Users\\mira\\AppData\\Roaming\\Cursor\\User\\globalStorage\\state.vscdb",
  );
  expect(pathsOf({ env: {}, platform: "win32", home: "C:\\Users\\mira" })).toContain(
    "C:\\Users\\mira\\AppData\\Roaming\\Block\\goose\\data\\sessions",
  );
  expect(pathsOf({ env: {}, platform: "darwin", home: "/Users/mira" })).toContain(
    "/Users/mira/Library/Application Support/Cursor/User/globalStorage/state.vscdb",
  );
});

test("each agent that help and documentation name has a location", () => {
  const found = agentLocations({ env: {}, platform: "linux", home: "/h" }).map(({ agent }) => agent);
  expect([...new Set(found)].sort()).toEqual([...AGENT_NAMES].sort());
});

test("or where their variables say, if that is the same place for everybody", () => {
  const env = {
    CLAUDE_CONFIG_DIR: "/c",
    GEMINI_CLI_HOME: "/g",
    CODEX_HOME: "/x",
    XDG_DATA_HOME: "/d",
    PI_CODING_AGENT_DIR: "/p",
    COPILOT_HOME: "/k",
    XDG_CONFIG_HOME: "/f",
    CLINE_DIR: "/l",
    QWEN_HOME: "/q",
    CONTINUE_GLOBAL_DIR: "/n",
    GOOSE_PATH_ROOT: "/r",
    KIMI_SHARE_DIR: "/k",
    OMP_CODING_AGENT_DIR: "/o",
    OPENCLAW_STATE_DIR: "/w",
    GROK_HOME: "/z",
  };
  expect(pathsOf({ env, platform: "linux", home: "/home/mira" })).toEqual([
    "/c/projects",
    "/g/.gemini/tmp",
    "/x/sessions",
    "/x/archived_sessions",
    "/home/mira/.llxprt/tmp",
    "/d/opencode/opencode.db",
    "/f/Cursor/User/globalStorage/state.vscdb",
    "/k/session-state",
    "/p/sessions",
    "/l/data/sessions",
    "/l/data/tasks",
    ...tasks("", "saoudrizwan.claude-dev", "/f").map(({ path }) => path),
    ...tasks("", "rooveterinaryinc.roo-cline", "/f").map(({ path }) => path),
    "/q/projects",
    "/q/tmp",
    "/n/sessions",
    ...chats("/f").map(({ path }) => path),
    "/r/data/sessions",
    "/home/mira/.factory/sessions",
    "/k/sessions",
    "/d/zed/threads/threads.db",
    "/d/amp/threads",
    "/o/sessions",
    "/home/mira/.cursor/projects",
    "/w/agents",
    "/z/sessions",
    "/home/mira/.gemini/antigravity/brain",
    "/home/mira/.gemini/antigravity-ide/brain",
    "/home/mira/.gemini/antigravity-cli/brain",
  ]);
  const piOnly = { PI_CODING_AGENT_DIR: "/p", PI_CODING_AGENT_SESSION_DIR: "/s" };
  expect(pathsOf({ env: piOnly, platform: "linux", home: "/home/mira" })).toContain("/s");
  const relative = { CLAUDE_CONFIG_DIR: "c", CODEX_HOME: "" };
  expect(pathsOf({ env: relative, platform: "linux", home: "/h" })).toEqual(
    pathsOf({ env: {}, platform: "linux", home: "/h" }),
  );
});
