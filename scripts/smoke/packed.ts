import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

/**
 * Makes an empty project with the packed package in it. The packages that it may use are links to those of the repository,
 * so that nothing is downloaded. Returns the folder of the package.
 */
export function installed(tarball: string, project: string, packages: readonly string[]): string {
  const modules = join(project, "node_modules");
  const target = join(modules, "coppice");
  mkdirSync(target, { recursive: true });
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  execFileSync("tar", ["-xzf", tarball, "-C", target, "--strip-components", "1"]);
  for (const name of packages) {
    const link = join(modules, name);
    mkdirSync(dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(realpathSync(join(MODULES, name)), link);
  }
  return target;
}
