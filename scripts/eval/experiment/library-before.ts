import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** The last commit before contexts had a digest. */
const COMMIT = "2f43b4eda99770a678c7f0f802bab27521fbf02c";

/**
 * Takes the library as it was before contexts had a digest from the history of this repository, and returns the URL of its
 * `src/index.ts`. Returns undefined, with a note on stderr, if the history does not have it, as in a shallow clone.
 *
 * @param folder  An empty folder.
 */
export function libraryBefore(folder: string): string | undefined {
  const archive = join(folder, "before.tar");
  const library = join(folder, "before");
  try {
    const paths = ["src", "migrations", "package.json", "tsconfig.json"];
    execFileSync("git", ["archive", "--output", archive, COMMIT, ...paths], { cwd: ROOT, stdio: "pipe" });
    mkdirSync(library);
    execFileSync("tar", ["-xf", archive, "-C", library], { stdio: "pipe" });
  } catch (error) {
    const reason = error instanceof Error ? error.message.trim() : String(error);
    console.error(`Commit ${COMMIT} cannot be read, so the figures of "before" are left out: ${reason}`);
    return undefined;
  }
  const modules = join(ROOT, "node_modules");
  if (existsSync(modules)) symlinkSync(modules, join(library, "node_modules"), "dir");
  return pathToFileURL(join(library, "src", "index.ts")).href;
}
