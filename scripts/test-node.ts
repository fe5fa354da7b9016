import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installNode, npmOn, versionsIn } from "./install.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * `npm run test:node -- VERSION` runs the README's commands in a copy of this tree, on another version of Node and with the SQLite driver
 * that npm installs for it.
 */
const major = process.argv[2];
if (major === undefined) throw new Error("Name a version of Node: npm run test:node -- 24");
const scratch = mkdtempSync(join(realpathSync(tmpdir()), "coppice-node-"));
chmodSync(scratch, 0o755); // some tests run as nobody
try {
  const node = installNode(join(scratch, "node"), major);
  const tree = join(scratch, "tree");
  const list = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  for (const file of list.split("\0").filter((name) => name !== "" && existsSync(join(ROOT, name))))
    cpSync(join(ROOT, file), join(tree, file));
  npmOn(node, ["ci"], tree);
  console.log(`\n${versionsIn(tree, node)}`);
  npmOn(node, ["run", "demo"], tree);
  npmOn(node, ["test"], tree);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
