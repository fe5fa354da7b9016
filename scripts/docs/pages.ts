import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What users read. */
export interface Page {
  /** From the root of the repository. */
  path: string;
  text: string;
}

/** The README, and the pages that stand beside what they tell of. */
export function readPages(): Page[] {
  const rooms = readdirSync(join(ROOT, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return ["README.md", "scripts/README.md", ...rooms.map(({ name }) => `src/${name}/README.md`).sort()]
    .filter((path) => existsSync(join(ROOT, path)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}
