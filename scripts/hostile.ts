import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { importHostile } from "./hostile/import.ts";

/**
 * `npm run hostile -- [--files N]` imports a folder of which one file in a hundred is hostile: damaged, endless, or far larger than
 * it looks. Prints the figures as JSON. The exit code is 1 if a message of a good file is missing.
 */
const { values } = parseArgs({ options: { files: { type: "string", default: "10000" } } });
const files = Number(values.files);
if (!Number.isSafeInteger(files) || files < 100) {
  console.error("Usage: npm run hostile -- [--files N], at least 100");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "coppice-hostile-"));
try {
  const figures = await importHostile(folder, files, Math.floor(files / 100));
  console.log(JSON.stringify(figures));
  process.exitCode = figures.missing > 0 ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true });
}
