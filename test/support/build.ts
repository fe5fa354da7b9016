import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of the built package: its `package.json`, `bin`, `dist` and pages. */
    packageFolder: string;
  }
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Builds the package once for `npm run test:all`. Returns the function that removes it. */
export function setup({ config, provide }: TestProject): (() => void) | undefined {
  if (config.env.COPPICE_TESTS !== "all") return undefined;
  const { folder, remove } = buildPackage();
  provide("packageFolder", folder);
  return remove;
}

/** Builds the package in a folder of its own. `dist` is left alone, because whoever runs `npm run build` owns it. */
export function buildPackage(): { folder: string; remove: () => void } {
  // Inside `node_modules`, so that Node finds the dependencies.
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "coppice-"));
  chmodSync(folder, 0o755); // a test runs the package as another user
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const build = ["--import", "tsx", join("scripts", "build.ts"), "--out", join(folder, "dist")];
    execFileSync(process.execPath, build, { cwd: ROOT, stdio: "inherit" });
    for (const name of ["package.json", "LICENSE", "README.md"]) {
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    }
    const isPage = (path: string): boolean => path.endsWith(".md") || statSync(path).isDirectory();
    for (const name of ["src", "scripts"])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: isPage });
  } catch (error) {
    remove();
    throw error;
  }
  return { folder, remove };
}
