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
    { agent: "iFlow", path: "/home/mira/.iflow/projects" },
    { agent: "Continue", path: "/home/mira/.continue/sessions" },
    ...chats(),
    { agent: "Goose", path: "/home/mira/.local/share/goose/sessions" },
    { agent: "Droid", path: "/home/mira/.factory/sessions" },
    { agent: "Kimi", path: "/home/mira/.kimi/sessions" },
    { agent: "Kimi Code", path: "/home/mira/.kimi-code/sessions" },
    { agent: "Kiro", path: "/home/mira/.kiro/sessions" },
    { agent: "OpenHands", path: "/home/mira/.openhands/conversations" },
    { agent: "OpenHands", path: "/home/mira/.openhands/sessions" },
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
  const windows = pathsOf({ env: {}, platform: "win32", home: "C:\\Users\\mira" });
  expect(windows[0]).toBe("C:\\Users\\mira\\.claude\\projects");
  expect(windows).toContain("C:\\Users\\mira\\AppData\\Roaming\\Cursor\\User\\globalStorage\\state.vscdb");
  expect(windows).toContain("C:\\Users\\mira\\AppData\\Roaming\\Block\\goose\\data\\sessions");
  const cursor = "/Users/mira/Library/Application Support/Cursor/User/globalStorage/state.vscdb";
  expect(pathsOf({ env: {}, platform: "darwin", home: "/Users/mira" })).toContain(cursor);
});

test("each agent that help and documentation name has a location", () => {
  const found = agentLocations({ env: {}, platform: "linux", home: "/h" }).map(({ agent }) => agent);
  expect([...new Set(found)].sort()).toEqual([...AGENT_NAMES].sort());
});

test.each([
  ["CLAUDE_CONFIG_DIR", ["/v/projects"]],
  ["GEMINI_CLI_HOME", ["/v/.gemini/tmp"]],
  ["CODEX_HOME", ["/v/sessions", "/v/archived_sessions"]],
  ["XDG_DATA_HOME", ["/v/opencode/opencode.db", "/v/goose/sessions", "/v/zed/threads/threads.db", "/v/amp/threads"]],
  ["PI_CODING_AGENT_DIR", ["/v/sessions"]],
  ["PI_CODING_AGENT_SESSION_DIR", ["/v"]],
  ["COPILOT_HOME", ["/v/session-state"]],
  ["CLINE_DIR", ["/v/data/sessions", "/v/data/tasks"]],
  ["CLINE_DATA_DIR", ["/v/sessions", "/v/tasks"]],
  ["QWEN_HOME", ["/v/projects", "/v/tmp"]],
  ["QWEN_RUNTIME_DIR", ["/v/projects", "/v/tmp"]],
  ["CONTINUE_GLOBAL_DIR", ["/v/sessions"]],
  ["GOOSE_PATH_ROOT", ["/v/data/sessions"]],
  ["KIMI_SHARE_DIR", ["/v/sessions"]],
  ["OMP_CODING_AGENT_DIR", ["/v/sessions"]],
  ["OPENCLAW_STATE_DIR", ["/v/agents"]],
  ["GROK_HOME", ["/v/sessions"]],
])("or where %s says, if that is the same place for everybody", (variable, moved) => {
  const at = (value: string) => pathsOf({ env: { [variable]: value }, platform: "linux", home: "/home/mira" });
  const usual = at("");
  const found = at("/v");
  expect(found.filter((path) => path.startsWith("/v"))).toEqual(moved);
  expect(found.map((path, index) => (path.startsWith("/v") ? usual[index] : path))).toEqual(usual);
  expect(at("relative")).toEqual(usual);
});

test("or where XDG_CONFIG_HOME and, before the folder of all that it keeps, pi's own variable say", () => {
  const configured = pathsOf({ env: { XDG_CONFIG_HOME: "/f" }, platform: "linux", home: "/home/mira" });
  const moved = ["saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"].flatMap((name) => tasks("", name, "/f"));
  const paths = [...moved, ...chats("/f")].map(({ path }) => path);
  expect(configured).toEqual(expect.arrayContaining(["/f/Cursor/User/globalStorage/state.vscdb", ...paths]));
  const pi = { PI_CODING_AGENT_DIR: "/p", PI_CODING_AGENT_SESSION_DIR: "/s" };
  expect(pathsOf({ env: pi, platform: "linux", home: "/home/mira" })).toContain("/s");
});
