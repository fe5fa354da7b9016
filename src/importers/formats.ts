/** The values of `--format`, in detection order. They have their own file so that `--help` loads no importer. */
export const IMPORT_FORMATS: readonly string[] = [
  "auto",
  "claude-code",
  "gemini-cli",
  "codex",
  "codex-exec",
  "llxprt",
  "opencode",
  "pi",
  "copilot-cli",
  "cursor",
  "aider",
  "chatgpt",
  "claude-ai",
  "ai-sdk",
  "openai",
  "jsonl",
];
