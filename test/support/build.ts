import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder of a built package: its `package.json`, `dist` and `migrations`. */
    packageFolder: string;
  }
}

/** Build the package once, for the tests that run it as its users do. @returns what takes it away when the tests are done. */
export function setup({ provide }: TestProject): () => void {
  const { folder, remove } = buildPackage();
  provide("packageFolder", folder);
  return remove;
}

/**
 * Build the package. It goes where an installed one would stand, into a folder of its own: `dist` belongs to whoever builds
 * it, at any time.
 *
 * @returns the folder, with `package.json`, `dist` and `migrations`, and what takes it away.
 */
export function buildPackage(): { folder: string; remove: () => void } {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "coppice-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const args = [compiler, "-p", "tsconfig.build.json", "--outDir", join(folder, "dist")];
    execFileSync(process.execPath, args, { cwd: root, stdio: "inherit" });
    copyFileSync(join(root, "package.json"), join(folder, "package.json"));
    cpSync(join(root, "migrations"), join(folder, "migrations"), { recursive: true });
    chmodSync(join(folder, "dist", "cli", "main.js"), 0o755); // as npm does with what `bin` names
  } catch (error) {
    remove();
    throw error;
  }
  return { folder, remove };
}
