import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

export interface Compiled {
  /** The compiled script. */
  path: string;
  /** Deletes all compiled files. */
  remove(): void;
}

/**
 * Compiles a script and the modules of `src` that it uses, because a process that lives for a fraction of a second should not
 * spend most of it on compiling. Writes to a new folder below `node_modules`, from which Node finds the packages.
 */
export function compile(script: string, ...others: readonly string[]): Compiled {
  const cache = join(ROOT, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "coppice-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const config = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: { noEmit: false, rootDir: ROOT, outDir: folder },
    files: [script, ...others],
    include: [],
  };
  try {
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    execFileSync(process.execPath, [compiler, "-p", folder], { stdio: ["ignore", "inherit", "inherit"] });
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", version: "0.0.0" }));
    cpSync(join(ROOT, "migrations"), join(folder, "migrations"), { recursive: true });
  } catch (error) {
    remove();
    throw error;
  }
  return { path: join(folder, relative(ROOT, script).replace(/\.ts$/, ".js")), remove };
}
