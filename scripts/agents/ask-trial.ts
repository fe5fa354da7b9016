import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Place, REAL_AGENTS } from "./agents.ts";
import type { FakeProvider } from "./provider.ts";

/** What must be in no request: it stands in files of a project, and in a file that a message mentions. */
const TRAP = "QUAGMIRE";
const QUESTION = ["ask", "why did we drop flock"];
const SAID = "We dropped flock, because NFS mounts ignore it. A lease row takes its place.";
const TIMEOUT_MS = 120_000;

interface AskedAgent {
  program: string;
  /** Where the program lies among the installed packages. */
  path: string;
  /** The agent of the other trials whose settings it has. */
  settings?: string;
  env(place: Place): Record<string, string>;
}

const bin = (name: string): string => join(".bin", name);

export const ASKED_AGENTS: readonly AskedAgent[] = [
  {
    program: "claude",
    path: join("@anthropic-ai", "claude-code-linux-x64", "claude"),
    settings: "claude-code",
    env: ({ providerUrl }) => ({
      ANTHROPIC_BASE_URL: providerUrl,
      ANTHROPIC_API_KEY: "none",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "1",
    }),
  },
  { program: "codex", path: bin("codex"), settings: "codex", env: () => ({ FAKE_KEY: "none" }) },
  {
    program: "gemini",
    path: bin("gemini"),
    settings: "gemini-cli",
    env: ({ providerUrl }) => ({
      GEMINI_API_KEY: "none",
      GOOGLE_GEMINI_BASE_URL: providerUrl,
      GEMINI_MODEL: "gemini-2.5-flash",
    }),
  },
  {
    program: "opencode",
    path: join("opencode-linux-x64-baseline", "bin", "opencode"),
    settings: "opencode",
    env: () => ({}),
  },
  {
    program: "copilot",
    path: bin("copilot"),
    env: ({ providerUrl }) => ({
      COPILOT_OFFLINE: "true",
      COPILOT_PROVIDER_BASE_URL: `${providerUrl}/v1`,
      COPILOT_MODEL: "gpt-5",
    }),
  },
  {
    program: "qwen",
    path: bin("qwen"),
    env: ({ providerUrl }) => ({
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: `${providerUrl}/v1`,
      OPENAI_MODEL: "fake-1",
    }),
  },
];

/** The results of `ask` with one agent. */
export interface AskTrial {
  agent: string;
  /** The answer is printed with its source, and a false citation is struck out. */
  answer: boolean;
  /** The request has the evidence, and nothing of files of projects, of files that a message mentions, and of tools. */
  request: boolean;
  /** Neither hooks nor servers of the person were started. */
  quiet: boolean;
  /** An import of all that the agents wrote brings nothing. */
  leftNothing: boolean;
  loggedOut: boolean;
  atLimit: boolean;
  hanging: boolean;
  interrupted: boolean;
  missing: boolean;
  seconds: number;
  notes: string[];
}

/** Runs `coppice ask` with a real agent, in a home of its own. */
export async function tryAsk(
  agent: AskedAgent,
  folder: string,
  coppice: string,
  provider: FakeProvider,
): Promise<AskTrial> {
  const startedMs = performance.now();
  const root = join(folder, "runs", `ask-${agent.program}`);
  rmSync(root, { recursive: true, force: true });
  const place: Place = {
    home: join(root, "home"),
    project: join(root, "harbor"),
    modules: join(folder, "node_modules"),
    providerUrl: provider.url,
  };
  const programs = join(root, "bin");
  const data = join(place.home, ".local", "share");
  for (const path of [place.home, place.project, programs, data]) mkdirSync(path, { recursive: true });
  for (const name of ["CLAUDE.md", "AGENTS.md", "GEMINI.md", "QWEN.md", "mentioned.txt"]) {
    writeFileSync(join(data, name), `${TRAP} in ${name}\n`);
  }
  const fired = join(root, "fired");
  REAL_AGENTS.find(({ name }) => name === agent.settings)?.prepare(place);
  setTraps(agent.program, place, `touch ${fired}`);
  const link = join(programs, agent.program);
  writeFileSync(link, `#!/bin/sh\nexec '${join(place.modules, agent.path)}' "$@"\n`);
  chmodSync(link, 0o755);
  const notes: string[] = [];
  const note = (text: string): false => {
    notes.push(text);
    return false;
  };
  const run = async (
    words: readonly string[],
    { path = `${programs}:`, endMs = TIMEOUT_MS, env = agent.env(place) } = {},
  ) => {
    const child = spawn(process.execPath, [coppice, ...words], {
      cwd: place.project,
      env: { PATH: `${path}/usr/bin:/bin`, HOME: place.home, TERM: "xterm-256color", ...env },
    });
    const timer = setTimeout(() => child.kill("SIGINT"), endMs);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.stdin.end();
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    clearTimeout(timer);
    return { code, output };
  };
  const lines = [
    { session: "lock", project: "web", role: "user", content: `Why flock? See @${join(data, "mentioned.txt")}` },
    { session: "lock", project: "web", role: "assistant", content: SAID },
  ];
  writeFileSync(join(root, "said.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  await run(["import", join(root, "said.jsonl")]);

  provider.fault = undefined;
  provider.reply = "Because NFS ignores it. [message:2]\nA lawyer wanted it. [message:4242]\n";
  provider.take();
  const answered = await run([...QUESTION, "--with", agent.program]);
  const isRight =
    answered.code === 0 &&
    answered.output.includes("Because NFS ignores it. [message:2]\nA lawyer wanted it. [unverified]") &&
    answered.output.includes("coppice expand message:2");
  const answer = isRight || note(`answer: exit ${answered.code}: ${answered.output.slice(-400)}`);
  const texts = provider.take().flatMap((exchange) => exchange.texts);
  const trapped = texts.filter((text) => text.includes(TRAP)).map((text) => text.slice(0, 200));
  const request =
    (texts.some((text) => text.includes(SAID)) || note("the evidence is not in a request")) &&
    (trapped.length === 0 || note(`in a request: ${trapped.join(" | ")}`));
  const quiet = !existsSync(fired) || note("a hook or a server of the person was started");

  const says = async (what: string, pattern: RegExp, words: readonly string[] = [], more = {}): Promise<boolean> => {
    const { code, output } = await run([...QUESTION, ...words], more);
    const isSaid = code === (what === "interrupted" ? 130 : 1) && pattern.test(output);
    return isSaid || note(`${what}: exit ${code}: ${output.slice(-400)}`);
  };
  provider.fault = 401;
  const loggedOut = await says("logged out", /to log in/);
  provider.fault = 429;
  const atLimit = await says("at its limit", /Try again in \d+ seconds/);
  provider.fault = "silent";
  const hanging = await says("hanging", /it had not ended after 6 s/, ["--wait", "6"]);
  const interrupted = await says("interrupted", /Interrupted/, [], { endMs: 5_000 });
  provider.fault = undefined;
  const missing = await says("missing", /is not on the path/, [], { path: "" });

  const before = await run(["sql", "SELECT count(*) AS n FROM messages", "--json"]);
  await run(["watch", "--once", "--yes", "--quiet"]);
  const after = await run(["sql", "SELECT count(*) AS n FROM messages", "--json"]);
  const leftNothing = before.output === after.output || note(`messages: ${before.output} then ${after.output}`);
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const figures = { answer, request, quiet, leftNothing, loggedOut, atLimit, hanging, interrupted, missing };
  return { agent: agent.program, ...figures, seconds, notes };
}

/** Gives the person hooks and servers that leave a mark when they are started. */
function setTraps(program: string, { home }: Place, command: string): void {
  const hooks = { SessionStart: [{ hooks: [{ type: "command", command }] }] };
  const [file, ...args] = command.split(" ");
  const mcpServers = { mark: { command: file, args } };
  const write = (path: string, value: object): void => {
    mkdirSync(join(home, path, ".."), { recursive: true });
    writeFileSync(join(home, path), JSON.stringify(value));
  };
  if (program === "claude") {
    write(".claude/settings.json", { hooks });
    write(".claude.json", { hasCompletedOnboarding: true, mcpServers });
  }
  if (program === "gemini")
    write(".gemini/settings.json", { hooks, mcpServers, security: { auth: { selectedType: "gemini-api-key" } } });
  if (program === "qwen")
    write(".qwen/settings.json", { hooks, mcpServers, security: { auth: { selectedType: "openai" } } });
  if (program === "copilot") write(".copilot/mcp-config.json", { mcpServers });
  if (program === "codex") {
    const config = join(home, ".codex", "config.toml");
    writeFileSync(config, `notify = ["sh", "-c", ${JSON.stringify(command)}]\n${readFileSync(config, "utf8")}`);
    writeFileSync(config, `\n[mcp_servers.mark]\ncommand = "${file}"\nargs = ${JSON.stringify(args)}\n`, { flag: "a" });
  }
}
