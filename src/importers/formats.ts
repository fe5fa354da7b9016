/** What `--format` accepts: `auto`, and the names of the importers in the order in which they are asked. */
export const IMPORT_FORMATS: readonly string[] = [
  "auto",
  "claude-code",
  "gemini-cli",
  "codex",
  "llxprt",
  "opencode",
  "ai-sdk",
  "openai",
  "jsonl",
];
