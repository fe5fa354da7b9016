import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A page of the documentation. */
export interface Page {
  /** Relative to the root of the repository. */
  path: string;
  text: string;
}

/** Reads the README and the README of each folder. */
export function readPages(): Page[] {
  const rooms = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return ["README.md", "scripts/README.md", "src/README.md", ...rooms.map(({ name }) => `src/${name}/README.md`).sort()]
    .filter((path) => existsSync(join(ROOT, path)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}
