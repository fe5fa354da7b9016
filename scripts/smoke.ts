import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SUITE = join(ROOT, "scripts", "smoke", "suite.mjs");
const DRIVER = join(ROOT, "node_modules", "better-sqlite3");
const OWN_MAJOR = process.versions.node.split(".")[0]!;

/**
 * `npm run smoke -- [VERSION …]` packs the package and tests the tarball on several versions of Node: this one, 22 and 24.
 * From 24.19 on, better-sqlite3 12 aborts when V8 frees a statement, so 24 means the last version before that.
 *
 * npm's `node` package brings the other versions with their headers, so the SQLite driver is compiled for each.
 */
const majors = process.argv.length > 2 ? process.argv.slice(2) : [OWN_MAJOR, "22", "24.18.1"];
const scratch = mkdtempSync(join(realpathSync(tmpdir()), "coppice-smoke-"));
try {
  const tarball = pack();
  for (const major of majors) {
    const node = major === OWN_MAJOR ? process.execPath : installNode(major);
    console.log(`\nNode ${execFileSync(node, ["--version"], { encoding: "utf8" }).trim()}`);
    const project = join(scratch, `project-${major}`);
    installPackage(tarball, project, major, node);
    execFileSync(node, ["--test", "suite.mjs"], { cwd: project, stdio: "inherit" });
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function pack(): string {
  // `prepack` builds.
  const args = ["pack", "--silent", "--pack-destination", scratch];
  const output = execFileSync("npm", args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  return join(scratch, output.trim().split("\n").at(-1)!);
}

function installNode(major: string): string {
  const folder = join(scratch, `node-${major}`);
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }));
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--silent", `node@${major}`], { cwd: folder });
  return realpathSync(join(folder, "node_modules", ".bin", "node"));
}

function installPackage(tarball: string, project: string, major: string, node: string): void {
  const modules = join(project, "node_modules");
  const target = join(modules, "coppice");
  mkdirSync(target, { recursive: true });
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  execFileSync("tar", ["-xzf", tarball, "-C", target, "--strip-components", "1"]);
  for (const name of ["bindings", "file-uri-to-path"])
    symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  if (major === OWN_MAJOR) symlinkSync(DRIVER, join(modules, "better-sqlite3"));
  else compileDriver(join(modules, "better-sqlite3"), node, headersOf(major));
  cpSync(SUITE, join(project, "suite.mjs"));
  cpSync(join(ROOT, "scripts", "demo", "transcripts"), join(project, "transcripts"), { recursive: true });
}

function compileDriver(folder: string, node: string, headers: string): void {
  cpSync(DRIVER, folder, { recursive: true, filter: (path) => path !== join(DRIVER, "build") });
  const npm = dirname(dirname(realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim())));
  const gyp = join(npm, "node_modules", "node-gyp", "bin", "node-gyp.js");
  // node-gyp prefers the environment, which npm sets from its own configuration, to its arguments.
  const env = { ...process.env, npm_config_nodedir: headers };
  const args = [gyp, "rebuild", "--release", "--jobs=max", "--loglevel=error"];
  execFileSync(node, args, { cwd: folder, env, stdio: ["ignore", "ignore", "inherit"] });
}

/** The folder with `include/node` in npm's package of this version. */
function headersOf(major: string): string {
  const modules = join(scratch, `node-${major}`, "node_modules");
  const name = `node-${process.platform}-${process.arch}`;
  return realpathSync(join(modules, "node", "node_modules", name));
}
