import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** Packs a built package. Nothing is built again, and nothing comes from the network. */
export function pack(
  packageFolder: string,
  destination: string,
): { path: string; byteLength: number; files: string[] } {
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", destination];
  const output = execFileSync("npm", args, {
    cwd: packageFolder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename, size, files }] = JSON.parse(output);
  return {
    path: join(destination, filename),
    byteLength: size,
    files: files.map(({ path }: { path: string }) => path),
  };
}

/** A folder that is removed after the tests of a file. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "coppice-packed-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Makes an empty project with the packed package in it. The packages that it may use are links to those of the repository,
 * so that nothing is downloaded.
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

/** The files of a folder and its subfolders, relative to it. */
export function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" });
}
