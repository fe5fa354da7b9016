import { installPackages } from "../install.ts";

/** The versions that were tried. pi is of the line that runs on Node 20. */
const VERSIONS: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code-linux-x64": "2.1.330",
  "@openai/codex": "0.169.0",
  "@google/gemini-cli": "0.61.0",
  "opencode-linux-x64-baseline": "1.18.33",
  "@earendil-works/pi-coding-agent": "0.74.2",
  // `ask` calls these two as well.
  "@github/copilot": "1.0.102",
  "@qwen-code/qwen-code": "0.15.10",
};

/** Installs the agents, 1.6 GB, unless the folder has these versions already. */
export function installAgents(folder: string): void {
  installPackages(folder, VERSIONS);
}

export function versionOf(packageName: string): string {
  return VERSIONS[packageName]!;
}
