/** A file of each format, as the importers' tests read them. */
const FIXTURES = new URL("../fixtures/importers/", import.meta.url);

export const samplesByFormat: Record<string, readonly string[]> = {
  "claude-code": ["claude-code/3f6c1d2e-0a4b-4c1d-9e8f-5a6b7c8d9e0f.jsonl", "claude-code/stream.jsonl"],
  "claude-history": ["claude-code/history.jsonl"],
  jsonl: ["neutral.jsonl"],
  "gemini-cli": [
    "gemini-cli/session-2026-03-04T10-00-5d0c7e1a.jsonl",
    "gemini-cli/session-2026-02-01T08-00-77e0c1aa.json",
  ],
  "qwen-code": ["qwen-code.jsonl"],
  codex: ["codex/rollout-2026-03-05T09-00-00-0199c3a0-7b1e-7c55-9d0f-2f6a1b3c4d5e.jsonl"],
  "codex-exec": ["codex/exec.jsonl"],
  llxprt: ["llxprt/session-2026-03-05T09-00-00-b1c2d3e4.jsonl"],
  gemini: ["gemini/checkpoint-gauge.json"],
  openai: ["openai/request.json", "openai/training.jsonl"],
  "ai-sdk": ["ai-sdk/chat.json"],
  pi: ["pi/2026-03-05T09-00-00-000Z_0199c3a0-7b1e-7c55-9d0f-2f6a1b3c4d5f.jsonl"],
  "copilot-cli": ["copilot-cli/events.jsonl"],
  aider: ["aider/.aider.chat.history.md"],
  specstory: ["specstory/2026-03-05_09-00-00Z-the-foghorn.md"],
  markdown: ["markdown.md"],
  chatgpt: ["chatgpt/conversations.json"],
  "claude-ai": ["claude-ai/conversations.json"],
  cline: ["cline/api_conversation_history.json", "cline/roo/api_conversation_history.json"],
  "cline-cli": ["cline/1772700000000_lamp1.messages.json"],
  "cline-ui": ["cline-ui.json"],
  continue: ["continue.json"],
  "copilot-chat": ["copilot-chat/session.json", "copilot-chat/session.jsonl"],
  amp: ["amp.json"],
  droid: ["droid.jsonl"],
  goose: ["goose/20260305_1.jsonl"],
  kimi: ["kimi/wire.jsonl", "kimi/context-of-old.jsonl"],
  "kimi-code": ["kimi-code/wire.jsonl"],
  omp: ["omp.jsonl"],
  "cursor-agent": ["cursor-agent.jsonl"],
  openclaw: ["openclaw.jsonl"],
  grok: ["grok.jsonl"],
  antigravity: ["antigravity.jsonl"],
  opencode: ["opencode/export.json"],
  kiro: ["kiro/cli.jsonl", "kiro/messages.jsonl"],
  atif: ["atif.json"],
  "swe-agent": ["swe-agent.json"],
  openhands: ["openhands/trajectory.json", "openhands/events.jsonl"],
  sharegpt: ["sharegpt.jsonl"],
  "openai-responses": ["openai-responses.jsonl"],
  langchain: ["langchain.jsonl"],
  langsmith: ["langsmith.jsonl"],
  "open-webui": ["open-webui.json"],
};

export function sampleOf(name: string): URL {
  return new URL(name, FIXTURES);
}

/** The samples of every format but one. */
export function samplesBut(format: string): URL[] {
  const others = Object.entries(samplesByFormat).filter(([name]) => name !== format);
  return others.flatMap(([, names]) => names.map(sampleOf));
}
