/** The values of `--format`: `auto` and the names of the importers in detection order. Kept apart so that `--help` loads no importer. */
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
