import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

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

/** Installs a version of Node from npm. @returns the path of its program. */
export function installNode(folder: string, major: string): string {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", `node@${major}`], { cwd: folder });
  return realpathSync(join(folder, "node_modules", ".bin", "node"));
}

/** Runs npm and all that it starts on a version of Node. npm chooses the SQLite driver for the Node that it runs on. */
export function npmOn(node: string, args: readonly string[], cwd: string): void {
  const npm = realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim());
  const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` };
  execFileSync(node, [npm, ...args], { cwd, env, stdio: ["ignore", "inherit", "inherit"] });
}

/** Returns what a version of Node and the SQLite driver in a folder are called. */
export function versionsIn(folder: string, node: string): string {
  const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
  const driver = readFileSync(join(folder, "node_modules", "better-sqlite3", "package.json"), "utf8");
  return `Node ${version}, better-sqlite3 ${JSON.parse(driver).version}`;
}
