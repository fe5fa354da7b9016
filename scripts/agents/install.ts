import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The versions that were tried. pi is of the line that runs on Node 20. */
const VERSIONS: Readonly<Record<string, string>> = {
  "@anthropic-ai/claude-code-linux-x64": "2.1.330",
  "@openai/codex": "0.169.0",
  "@google/gemini-cli": "0.61.0",
  "opencode-linux-x64-baseline": "1.18.33",
  "@earendil-works/pi-coding-agent": "0.74.2",
};

/** Installs the agents, 1.3 GB, unless the folder has these versions already. No install script runs. */
export function installAgents(folder: string): void {
  const manifest = join(folder, "package.json");
  const wanted = `${JSON.stringify({ private: true, dependencies: VERSIONS }, null, 2)}\n`;
  const modules = join(folder, "node_modules");
  if (existsSync(modules) && readFileSync(manifest, "utf8") === wanted) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifest, wanted);
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
}

export function versionOf(packageName: string): string {
  return VERSIONS[packageName]!;
}
