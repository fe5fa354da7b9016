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

/** Reads the README, and the README of each room and each framework. */
export function readPages(): Page[] {
  const folders = [...foldersIn("src"), ...foldersIn("src/frameworks")].sort();
  return ["README.md", "scripts/README.md", "src/README.md", ...folders.map((folder) => `${folder}/README.md`)]
    .filter((path) => existsSync(join(ROOT, path)))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

function foldersIn(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries.map(({ name }) => `${folder}/${name}`);
}
