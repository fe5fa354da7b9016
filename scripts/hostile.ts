import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { repeatFaults } from "./hostile/faults.ts";
import { importHostile } from "./hostile/import.ts";

/**
 * `npm run hostile -- [--files N] [--only files|faults]` imports a folder of which one file in a hundred is hostile: damaged, endless,
 * or far larger than it looks. Then it runs the tests that repeat known faults (`hostile/faults.ts`). Prints the figures as JSON. The
 * exit code is 1 if a message of a good file is missing, or if a test failed.
 */
const { values } = parseArgs({ options: { files: { type: "string", default: "10000" }, only: { type: "string" } } });
const files = Number(values.files);
const { only = "all" } = values;
if (!Number.isSafeInteger(files) || files < 100 || !["all", "files", "faults"].includes(only)) {
  console.error("Usage: npm run hostile -- [--files N] [--only files|faults], N at least 100");
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), "coppice-hostile-"));
try {
  const figures = only === "faults" ? undefined : await importHostile(folder, files, Math.floor(files / 100));
  const faults = only === "files" ? undefined : repeatFaults(folder);
  console.log(JSON.stringify({ ...figures, faults }));
  const hasFailed = Object.values(faults ?? {}).some(({ passed, failed }) => failed > 0 || passed === 0);
  process.exitCode = (figures?.missing ?? 0) > 0 || hasFailed ? 1 : 0;
} finally {
  rmSync(folder, { recursive: true });
}
