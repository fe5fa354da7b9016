import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { checkTypes } from "./smoke/types.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SUITE = join(ROOT, "scripts", "smoke", "suite.mjs");
const NPM = realpathSync(execFileSync("which", ["npm"], { encoding: "utf8" }).trim());
const OWN_MAJOR = process.versions.node.split(".")[0]!;

/**
 * `npm run smoke -- [VERSION …]` packs the package, checks its types, and tests the tarball on several versions of Node: this one, 22,
 * 24 and 26.
 *
 * npm's `node` package brings the other versions. npm runs on each version, because it chooses the SQLite driver for the Node
 * that it runs on: version 12 for Node 20, which is compiled, and version 13 for newer ones, which brings its binary.
 */
const majors = process.argv.length > 2 ? process.argv.slice(2) : [OWN_MAJOR, "22", "24", "26"];
const scratch = mkdtempSync(join(realpathSync(tmpdir()), "coppice-smoke-"));
try {
  const tarball = pack();
  checkTypes(tarball, join(scratch, "typed"));
  for (const major of majors) {
    const node = major === OWN_MAJOR ? process.execPath : installNode(major);
    const project = join(scratch, `project-${major}`);
    const driver = installPackage(tarball, project, node);
    const version = execFileSync(node, ["--version"], { encoding: "utf8" }).trim();
    console.log(`\nNode ${version}, better-sqlite3 ${driver}`);
    execFileSync(node, ["--test", "suite.mjs"], { cwd: project, stdio: "inherit" });
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function pack(): string {
  // `npm pack` runs the script `prepack`, which builds.
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

/** Returns the version of the SQLite driver that npm has chosen. */
function installPackage(tarball: string, project: string, node: string): string {
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const args = [NPM, "install", "--no-audit", "--no-fund", "--silent", tarball];
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  execFileSync(node, args, { cwd: project, env });
  cpSync(SUITE, join(project, "suite.mjs"));
  cpSync(join(ROOT, "scripts", "demo", "transcripts"), join(project, "transcripts"), { recursive: true });
  return JSON.parse(readFileSync(join(project, "node_modules", "better-sqlite3", "package.json"), "utf8")).version;
}
