import { claudeCode } from "./agents/claude-code.ts";
import { codex } from "./agents/codex.ts";
import { geminiCli } from "./agents/gemini-cli.ts";
import { opencode } from "./agents/opencode.ts";
import { pi } from "./agents/pi.ts";
import { vscode } from "./agents/vscode.ts";
import type { Target } from "./target.ts";

export const AGENTS: readonly Target[] = [claudeCode, codex, geminiCli, opencode, pi, vscode];
