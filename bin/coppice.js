#!/usr/bin/env node
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const cli = new URL("../dist/cli.js", import.meta.url);

// A published package is built. A clone that `npm link` put on the path may not be.
if (!existsSync(cli)) {
  const root = fileURLToPath(new URL("..", import.meta.url));
  execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: ["ignore", 2, 2] });
}
await import(cli.href);
