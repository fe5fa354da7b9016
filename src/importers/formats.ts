interface Format {
  /** The programs whose transcripts in this format `watch` follows. `locations.ts` says where they are. */
  agents?: readonly string[];
  /** The command with which a program continues a session of this source. */
  resume?: string;
}

/**
 * The values of `--format`, in detection order. This file loads no importer, because `--help` reads it: from here come the names of
 * agents in help and documentation, and the commands that continue sessions.
 */
const FORMATS: Readonly<Record<string, Format>> = {
  "claude-code": { agents: ["Claude Code", "iFlow"], resume: "claude --resume <id>" },
  "claude-history": {},
  "gemini-cli": { agents: ["Gemini CLI"], resume: "gemini --resume <id>" },
  "qwen-code": { agents: ["Qwen Code"], resume: "qwen --resume <id>" },
  codex: { agents: ["Codex"], resume: "codex resume <id>" },
  "codex-exec": {},
  llxprt: { agents: ["llxprt-code"] },
  opencode: { agents: ["opencode"], resume: "opencode --session <id>" },
  pi: { agents: ["pi"], resume: "pi --session <id>" },
  "copilot-cli": { agents: ["Copilot CLI"], resume: "copilot --session-id <id>" },
  cursor: { agents: ["Cursor"] },
  aider: {},
  specstory: {},
  chatgpt: {},
  "claude-ai": {},
  cline: { agents: ["Cline", "Roo Code"] },
  "cline-cli": { agents: ["Cline"], resume: "cline --id <id>" },
  "cline-ui": {},
  continue: { agents: ["Continue"] },
  "copilot-chat": { agents: ["Copilot Chat"] },
  goose: { agents: ["Goose"], resume: "goose session --resume --session-id <id>" },
  crush: { resume: "crush --session <id>" },
  droid: { agents: ["Droid"], resume: "droid --resume <id>" },
  kimi: { agents: ["Kimi"], resume: "kimi --session <id>" },
  "kimi-code": { agents: ["Kimi Code"], resume: "kimi --session <id>" },
  zed: { agents: ["Zed"] },
  amp: { agents: ["Amp"], resume: "amp threads continue <id>" },
  omp: { agents: ["Oh My Pi"], resume: "omp --resume <id>" },
  "cursor-agent": { agents: ["Cursor"], resume: "cursor-agent --resume <id>" },
  openclaw: { agents: ["OpenClaw"], resume: 'openclaw agent --session-id <id> --message "Go on."' },
  grok: { agents: ["Grok"], resume: "grok --resume <id>" },
  antigravity: { agents: ["Antigravity"] },
  kiro: { agents: ["Kiro"] },
  atif: {},
  "swe-agent": {},
  openhands: { agents: ["OpenHands"], resume: "openhands --resume <id>" },
  "open-webui": {},
  sharegpt: {},
  langsmith: {},
  langchain: {},
  "openai-responses": {},
  "ai-sdk": {},
  gemini: {},
  openai: {},
  markdown: {},
  jsonl: {},
};

export const IMPORT_FORMATS: readonly string[] = ["auto", ...Object.keys(FORMATS)];

/** The agents whose transcripts `watch` follows. */
export const AGENT_NAMES: readonly string[] = [...new Set(Object.values(FORMATS).flatMap(({ agents = [] }) => agents))];

/** Returns names as prose has them: `a, b and c`. */
export function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Returns the command that continues a session in the program that it came from; undefined if there is none. */
export function resumeCommand(source: string, id: string): string | undefined {
  return FORMATS[source]?.resume?.replace("<id>", id);
}
