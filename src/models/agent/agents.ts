import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** What one call gives an agent besides the prompt, which goes to its stdin. */
export interface AgentCall {
  system: string;
  /** A file that holds `system`, in the folder where the agent runs. */
  systemFile: string;
}

/** What one line of an agent's output says. */
export interface AgentNews {
  /** The next piece of the answer. */
  text?: string;
  /** The whole answer, for agents that also stream it. */
  whole?: string;
  /** The tokens of this step. */
  inputTokens?: number;
  outputTokens?: number;
  failure?: string;
}

/** How an agent answers one prompt: without tools, hooks and files of projects, and if it can, without keeping the session. */
export interface CalledAgent {
  title: string;
  program: string;
  /** How to log in, for errors. */
  logIn: string;
  args(call: AgentCall): string[];
  env?(call: AgentCall): Record<string, string>;
  /** Settings for the folder in which the agent runs, by path. */
  files?: Readonly<Record<string, object>>;
  /** True if the agent takes no system prompt, so that it stands before the prompt. */
  isWithoutSystem?: true;
  /** @param event  One line of stdout, parsed. */
  read(event: AgentEvent): AgentNews;
}

// biome-ignore lint/suspicious/noExplicitAny: the events of another program, of any shape. Each field is read with `?.`.
export type AgentEvent = any;

/** No tool, server or extension has this name, so a list with it alone allows none. */
const NONE = "none";

/** Claude Code's stream, which Qwen Code writes, too. */
function streamed({ type, event, is_error, result, usage, subtype }: AgentEvent): AgentNews {
  if (type === "stream_event" && event?.type === "content_block_delta") return { text: event.delta?.text };
  if (type !== "result") return {};
  const { input_tokens = 0, cache_creation_input_tokens = 0, cache_read_input_tokens = 0, output_tokens } = usage ?? {};
  const inputTokens = input_tokens + cache_creation_input_tokens + cache_read_input_tokens;
  const counts = { inputTokens, outputTokens: output_tokens };
  return is_error ? { ...counts, failure: String(result ?? subtype) } : { ...counts, whole: result };
}

const claude: CalledAgent = {
  title: "Claude Code",
  program: "claude",
  logIn: "run `claude`, and then /login",
  args: ({ system }) => [
    ...["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"],
    ...["--no-session-persistence", "--tools", "", "--strict-mcp-config", "--disable-slash-commands"],
    ...["--settings", '{"disableAllHooks":true}', "--system-prompt", system],
  ],
  env: () => ({
    CLAUDE_CODE_DISABLE_CLAUDE_MDS: "1",
    CLAUDE_CODE_DISABLE_AUTO_MEMORY: "1",
    // Otherwise it reads files that the prompt mentions, such as `@/etc/passwd`.
    CLAUDE_CODE_DISABLE_ATTACHMENTS: "1",
    CLAUDE_CODE_SKIP_PROMPT_HISTORY: "1",
  }),
  read: streamed,
};

const CODEX_OFF = ["hooks", "shell_tool", "unified_exec", "apps", "plugins", "multi_agent", "skill_search"];
const CODEX_SETTINGS = [
  // Otherwise the program that tells the person of an answer gets the prompt as an argument.
  "notify=[]",
  "project_doc_max_bytes=0",
  'web_search="disabled"',
  "skills.include_instructions=false",
  "include_permissions_instructions=false",
  "include_environment_context=false",
];

const codex: CalledAgent = {
  title: "Codex",
  program: "codex",
  logIn: "run `codex login`",
  args: ({ systemFile }) => {
    const settings = [
      ...CODEX_SETTINGS,
      `model_instructions_file=${JSON.stringify(systemFile)}`,
      // A map of settings is merged with the person's, so each server is turned off by its name.
      ...codexServers().map((name) => `mcp_servers.${name}.enabled=false`),
    ];
    return [
      ...["exec", "--json", "--ephemeral", "--skip-git-repo-check", "--sandbox", "read-only", "--color", "never"],
      ...CODEX_OFF.flatMap((feature) => ["--disable", feature]),
      ...settings.flatMap((setting) => ["-c", setting]),
      "-",
    ];
  },
  read({ type, item, usage, error, message }) {
    if (type === "item.completed" && item?.type === "agent_message") return { text: item.text && `${item.text}\n` };
    if (type === "turn.completed") return { inputTokens: usage?.input_tokens, outputTokens: usage?.output_tokens };
    if (type === "turn.failed") return { failure: String(error?.message) };
    // It also reports so that it tries again.
    return type === "error" ? { failure: String(message) } : {};
  },
};

/** Returns the names of the MCP servers in the settings of Codex. */
function codexServers(): string[] {
  try {
    const config = readFileSync(join(process.env.CODEX_HOME || join(homedir(), ".codex"), "config.toml"), "utf8");
    return serversIn(config);
  } catch {
    return []; // there are no settings
  }
}

/** Finds tables, dotted keys, keys of the table of servers and of its value. A name of other characters is no server for Codex. */
function serversIn(config: string): string[] {
  const names: string[] = [];
  let isInServers = false;
  for (const line of config.split("\n")) {
    const isTable = /^\s*\[/.test(line);
    const [, , , dotted] = /^\s*\[?\s*(["']?)mcp_servers\1\s*\.\s*(["']?)([\w-]+)\2\s*[.\]=]/.exec(line) ?? [];
    const [, , key] = (isInServers && !isTable && /^\s*(["']?)([\w-]+)\1\s*[.=]/.exec(line)) || [];
    let [, , value = ""] = /^\s*(["']?)mcp_servers\1\s*=\s*\{(.*)/.exec(line) ?? [];
    for (let before = ""; before !== value; ) [before, value] = [value, value.replace(/\{[^{}]*\}/g, "")];
    const keys = [...value.matchAll(/(["']?)([\w-]+)\1\s*=/g)].map(([, , name]) => name);
    names.push(...[dotted, key, ...keys].filter((name) => name !== undefined));
    if (isTable) isInServers = /^\s*\[\s*(["']?)mcp_servers\1\s*\]/.test(line);
  }
  return [...new Set(names)];
}

const gemini: CalledAgent = {
  title: "Gemini CLI",
  program: "gemini",
  logIn: "run `gemini`, and choose how to log in",
  args: () => ["-o", "stream-json", "-e", NONE, "--allowed-mcp-server-names", NONE],
  // Without trust it ignores the settings in its folder.
  env: ({ systemFile }) => ({ GEMINI_SYSTEM_MD: systemFile, GEMINI_CLI_TRUST_WORKSPACE: "true" }),
  files: {
    ".gemini/settings.json": {
      hooksConfig: { enabled: false },
      tools: { core: [NONE] },
      skills: { enabled: false },
      context: { fileName: `${NONE}.md`, includeDirectoryTree: false, discoveryMaxDirs: 0 },
      // Otherwise it waits for minutes before it says that it is at its limit.
      general: { maxAttempts: 2 },
    },
  },
  read({ type, role, content, stats, status, error, severity, message }) {
    if (type === "message" && role === "assistant") return { text: content };
    if (type === "error" && severity !== "warning") return { failure: String(message) };
    if (type !== "result") return {};
    if (status !== "success") return { failure: String(error?.message ?? status) };
    return { inputTokens: stats?.input_tokens, outputTokens: stats?.output_tokens };
  },
};

const opencode: CalledAgent = {
  title: "opencode",
  program: "opencode",
  logIn: "run `opencode auth login`",
  args: () => ["run", "--pure", "--format", "json", "--agent", "coppice", "--title", "Coppice"],
  env: ({ system }) => ({
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      agent: { coppice: { mode: "primary", prompt: system, tools: { "*": false } } },
      share: "disabled",
    }),
    OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    OPENCODE_DISABLE_CLAUDE_CODE: "1",
  }),
  read({ type, part, error }) {
    if (type === "text") return { text: part?.text && `${part.text}\n` };
    if (type === "error") return { failure: String(error?.data?.message ?? error?.name) };
    if (type !== "step_finish") return {};
    const { input = 0, output, cache } = part?.tokens ?? {};
    return { inputTokens: input + (cache?.read ?? 0) + (cache?.write ?? 0), outputTokens: output };
  },
};

const copilot: CalledAgent = {
  title: "Copilot CLI",
  program: "copilot",
  logIn: "run `copilot login`",
  isWithoutSystem: true,
  args: () => [
    ...["--output-format", "json", "--stream", "on", "--no-color", "--no-auto-update", "--no-custom-instructions"],
    ...["--disable-builtin-mcps", "--available-tools", NONE, "--no-ask-user", "--no-remote"],
    ...copilotServers().flatMap((name) => ["--disable-mcp-server", name]),
  ],
  read({ type, data }) {
    if (type === "assistant.message_delta") return { text: data?.deltaContent };
    if (type === "assistant.message") return { whole: data?.content };
    if (type === "session.error") return { failure: String(data?.message) };
    return {};
  },
};

/** Returns the names of the MCP servers in the settings of Copilot CLI. */
function copilotServers(): string[] {
  try {
    const path = join(process.env.COPILOT_HOME || join(homedir(), ".copilot"), "mcp-config.json");
    return Object.keys(JSON.parse(readFileSync(path, "utf8")).mcpServers);
  } catch {
    return []; // there are no settings
  }
}

const qwen: CalledAgent = {
  title: "Qwen Code",
  program: "qwen",
  logIn: "run `qwen auth`",
  args: ({ system }) => [
    ...["-o", "stream-json", "--include-partial-messages", "--chat-recording", "false", "--core-tools", NONE],
    ...["-e", NONE, "--allowed-mcp-server-names", NONE, "--system-prompt", system],
  ],
  files: {
    ".qwen/settings.json": {
      disableAllHooks: true,
      context: { fileName: `${NONE}.md`, includeDirectoryTree: false },
    },
  },
  read(event) {
    const news = streamed(event);
    // It gives an error of its model as an answer.
    const said = news.text ?? news.whole ?? "";
    return said.trimStart().startsWith("[API Error: ") ? { failure: said } : news;
  },
};

/** The agents that can be called. README.md has their flags, with the versions that were run. */
export const CALLED_AGENTS = { claude, codex, gemini, opencode, copilot, qwen };

export type AgentName = keyof typeof CALLED_AGENTS;

export const AGENT_NAMES = Object.keys(CALLED_AGENTS) as AgentName[];

/** The most milliseconds that a call takes. A model that thinks may be silent for minutes. */
export const AGENT_MS_MAX = 300_000;
