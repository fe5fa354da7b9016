import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { trustOf } from "../../src/setup/agents/codex.ts";
import { FILL } from "./provider.ts";

/** Where an agent runs: its own home, its project, and the installed programs. */
export interface Place {
  home: string;
  project: string;
  modules: string;
  providerUrl: string;
}

export interface Invocation {
  program: string;
  args: readonly string[];
  env?: Readonly<Record<string, string>>;
  /** Lines for stdin, one each time that the program has become quiet. */
  typed?: readonly string[];
  /** True if they are typed at a terminal. */
  isAtTerminal?: boolean;
}

export interface RealAgent {
  name: string;
  package: string;
  /** Writes the settings that a person has before setup. */
  prepare(place: Place): void;
  /** Does what a person does after setup. */
  trust?(place: Place): void;
  /** Checks what setup has written, by the agent's own command. */
  validate?(place: Place): Invocation;
  /** Starts a session with a prompt. */
  start(place: Place, prompt: string): Invocation;
  /** Compacts the last session, then goes on with it. */
  compact(place: Place): Invocation[];
  /** No hook stores the sessions of this agent. */
  isUnstored?: true;
}

const GO_ON = "Go on with the next step.";

function write(path: string, text: string): void {
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
}

const claudeCode: RealAgent = {
  name: "claude-code",
  package: "@anthropic-ai/claude-code-linux-x64",
  prepare({ home }) {
    write(join(home, ".claude", "settings.json"), '{ "theme": "dark",\n   "permissions": { "deny": [] } }\n');
    write(join(home, ".claude.json"), '{"hasCompletedOnboarding": true}');
  },
  validate: (place) => claude(place, ["plugin", "validate", join(place.home, ".claude", "skills", "coppice")]),
  start: (place, prompt) => claude(place, ["-p", prompt]),
  compact: (place) => ["/compact", GO_ON].map((prompt) => claude(place, ["-p", "--continue", prompt])),
};

function claude({ modules, providerUrl }: Place, args: readonly string[]): Invocation {
  const env = {
    ANTHROPIC_BASE_URL: providerUrl,
    ANTHROPIC_API_KEY: "none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  };
  return { program: join(modules, "@anthropic-ai", "claude-code-linux-x64", "claude"), args, env };
}

const codex: RealAgent = {
  name: "codex",
  package: "@openai/codex",
  prepare({ home, providerUrl }) {
    write(
      join(home, ".codex", "config.toml"),
      `model = "fake-1" # mine
model_provider = "fake"
model_context_window = 100000
model_auto_compact_token_limit = 50000

[model_providers.fake]
name = "fake"
base_url = "${providerUrl}/v1"
wire_api = "responses"
env_key = "FAKE_KEY"

[[hooks.SessionStart]]
hooks = [{ type = "command", command = "true" }]`,
    );
  },
  trust({ home }) {
    const path = join(home, ".codex", "config.toml");
    const config = readFileSync(path, "utf8");
    // The first hook of SessionStart belongs to the person.
    const hooks = [
      ["SessionStart", "session_start:1:0", "session-start"],
      ["UserPromptSubmit", "user_prompt_submit:0:0", "prompt"],
      ["Stop", "stop:0:0", "turn-end"],
      ["PreCompact", "pre_compact:0:0", "before-compaction"],
    ] as const;
    const lines = hooks.map(([moment, key, event]) => {
      const trust = trustOf(moment, `coppice hook ${event} --agent codex`);
      return `\n[hooks.state."${path}:${key}"]\ntrusted_hash = "${trust}"\n`;
    });
    writeFileSync(path, `${config}${lines.join("")}`);
  },
  start: (place, prompt) => codexExec(place, [prompt]),
  // Codex compacts a full window before it goes on.
  compact: (place) => [FILL, GO_ON].map((prompt) => codexExec(place, ["resume", "--last", prompt])),
};

function codexExec({ modules }: Place, args: readonly string[]): Invocation {
  const program = join(modules, ".bin", "codex");
  return { program, args: ["exec", "--skip-git-repo-check", ...args], env: { FAKE_KEY: "none" } };
}

const geminiCli: RealAgent = {
  name: "gemini-cli",
  package: "@google/gemini-cli",
  prepare({ home }) {
    write(
      join(home, ".gemini", "settings.json"),
      '{\n  // mine\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n',
    );
  },
  validate: (place) => gemini(place, ["extensions", "validate", join(place.home, ".gemini", "extensions", "coppice")]),
  start: (place, prompt) => gemini(place, ["-m", "gemini-2.5-flash", "-p", prompt]),
  // `/compress` needs a terminal. A session that is resumed has its whole history again, so this one goes on.
  compact: (place) => [
    {
      ...gemini(place, ["-m", "gemini-2.5-flash", "--resume", "latest"]),
      typed: [FILL, "/compress", GO_ON, "/quit"],
      isAtTerminal: true,
    },
  ],
};

function gemini({ modules, providerUrl }: Place, args: readonly string[]): Invocation {
  const env = { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: providerUrl, GEMINI_CLI_TRUST_WORKSPACE: "true" };
  return { program: join(modules, ".bin", "gemini"), args, env };
}

const opencode: RealAgent = {
  name: "opencode",
  package: "opencode-linux-x64-baseline",
  prepare({ home, providerUrl }) {
    const model = { limit: { context: 100_000, output: 4_000 } };
    const options = { baseURL: `${providerUrl}/v1`, apiKey: "none" };
    const provider = { fake: { npm: "@ai-sdk/openai-compatible", options, models: { "fake-1": model } } };
    const settings = { provider, model: "fake/fake-1", small_model: "fake/fake-1", autoupdate: false };
    write(join(home, ".config", "opencode", "opencode.json"), `// mine\n${JSON.stringify(settings, null, 3)}`);
  },
  isUnstored: true, // its sessions are in one database, which is too large to read after each turn
  start: (place, prompt) => opencodeRun(place, [prompt]),
  // opencode compacts a full window at once.
  compact: (place) => [FILL, GO_ON].map((prompt) => opencodeRun(place, ["--continue", prompt])),
};

function opencodeRun({ modules }: Place, args: readonly string[]): Invocation {
  return { program: join(modules, "opencode-linux-x64-baseline", "bin", "opencode"), args: ["run", ...args] };
}

const pi: RealAgent = {
  name: "pi",
  package: "@earendil-works/pi-coding-agent",
  prepare({ home, providerUrl }) {
    const models = [{ id: "fake-1", contextWindow: 100_000 }];
    const fake = { baseUrl: `${providerUrl}/v1`, api: "openai-completions", apiKey: "none", models };
    write(join(home, ".pi", "agent", "models.json"), JSON.stringify({ providers: { fake } }));
    // pi keeps the newest messages in a compaction. This makes it keep fewer.
    write(join(home, ".pi", "agent", "settings.json"), '{ "compaction": { "keepRecentTokens": 1 } }');
  },
  start: (place, prompt) => piRun(place, ["-p", prompt]),
  // pi tells its extensions of a compaction only while it runs.
  compact: (place) => [
    {
      ...piRun(place, ["--mode", "rpc", "--continue"]),
      typed: ['{"type":"compact"}', `{"type":"prompt","message":"${GO_ON}"}`],
    },
  ],
};

function piRun({ modules }: Place, args: readonly string[]): Invocation {
  return { program: join(modules, ".bin", "pi"), args: ["--provider", "fake", "--model", "fake-1", ...args] };
}

export const REAL_AGENTS: readonly RealAgent[] = [claudeCode, codex, geminiCli, opencode, pi];

/** Returns the files below a folder by their relative paths. */
export function filesIn(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.map((file) => [file.slice(folder.length + 1), readFileSync(file, "latin1")]));
}
