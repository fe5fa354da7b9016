import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Installs packages from npm, unless the folder has these versions already. No install script runs. */
export function installPackages(folder: string, versions: Readonly<Record<string, string>>): void {
  const manifest = join(folder, "package.json");
  const wanted = `${JSON.stringify({ private: true, dependencies: versions }, null, 2)}\n`;
  const modules = join(folder, "node_modules");
  if (existsSync(modules) && readFileSync(manifest, "utf8") === wanted) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifest, wanted);
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "inherit", "inherit"] });
}
