import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

// npm runs this after `npm install` and `npm ci` in a clone. The lock file has the SQLite driver of Node 22 and newer, which brings its
// binaries. For Node 20, npm chooses version 12 in the range of package.json, and compiles it.
const require = createRequire(import.meta.url);
const { engines } = require("better-sqlite3/package.json");
const isOld = Number(process.versions.node.split(".")[0]) < Number(/\d+/.exec(engines.node)?.[0]);
if (isOld) {
  const { dependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const wanted = `better-sqlite3@${dependencies["better-sqlite3"]}`;
  const npm = process.env.npm_execpath; // set by npm, for any platform
  execFileSync(process.execPath, [npm, "install", "--no-save", "--no-audit", "--no-fund", wanted], {
    stdio: "inherit",
  });
}
