import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installNode, npmOn, versionsIn } from "./install.ts";
import { checkTypes } from "./smoke/types.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SUITE = join(ROOT, "scripts", "smoke", "suite.mjs");
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
    const node = major === OWN_MAJOR ? process.execPath : installNode(join(scratch, `node-${major}`), major);
    const project = join(scratch, `project-${major}`);
    installPackage(tarball, project, node);
    console.log(`\n${versionsIn(project, node)}`);
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

function installPackage(tarball: string, project: string, node: string): void {
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  npmOn(node, ["install", "--no-audit", "--no-fund", "--silent", tarball], project);
  cpSync(SUITE, join(project, "suite.mjs"));
  cpSync(join(ROOT, "scripts", "demo", "transcripts"), join(project, "transcripts"), { recursive: true });
}
