import { execFileSync } from "node:child_process";
import { cpSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "./messages.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const TRANSCRIPTS = join(ROOT, "scripts", "demo", "transcripts");
const RUNS = 5;
const QUESTION = "which lock replaces flock?";

/** Prints the CPU time of the whole process, Node's own start included, when the process ends. */
const REPORT_CPU = `
process.on("exit", () => {
  const { user, system } = process.cpuUsage();
  require("node:fs").writeSync(3, String((user + system) / 1000));
});`;

/**
 * Measures the package as users get it: packed, and installed from the registry into an empty project.
 *
 * Its install scripts do not run: the SQLite driver that this repository has built is copied, because compiling it takes minutes and
 * gives the same files. Then a clone is installed whole, and timed.
 *
 * @param folder  The repository to pack. Its `node_modules` holds the built driver.
 */
export async function benchPackage({ folder = ROOT }: { folder?: string | undefined } = {}): Promise<{
  name: "package";
  figures: Record<string, number>;
}> {
  const source = resolve(folder);
  const scratch = mkdtempSync(join(tmpdir(), "coppice-bench-package-"));
  try {
    const tarball = pack(source, scratch);
    const project = install(source, tarball.path, join(scratch, "project"));
    const clone = installClone(source, join(scratch, "clone"));
    return {
      name: "package",
      figures: {
        importCpuMs: importCpuMs(project, "coppice"),
        bareSqliteCpuMs: importCpuMs(project, "better-sqlite3"),
        recallCliCpuMs: recallCliCpuMs(project, join(scratch, "demo.db")),
        installMb: megabytes(join(project, "node_modules")),
        cloneInstallMb: clone.megabytes,
        cloneInstallS: clone.seconds,
        readmeLines: readFileSync(join(source, "README.md"), "utf8").trimEnd().split("\n").length,
        tarballBytes: tarball.bytes,
        tarballFiles: tarball.files,
      },
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function pack(source: string, destination: string): { path: string; bytes: number; files: number } {
  const output = execFileSync("npm", ["pack", "--json", "--pack-destination", destination], {
    cwd: source,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
    maxBuffer: 1 << 24,
  });
  // The build may print lines before the JSON.
  const [{ filename, size, entryCount }] = JSON.parse(output.slice(output.search(/^\[/m)));
  return { path: join(destination, filename), bytes: size, files: entryCount };
}

function install(source: string, tarball: string, project: string): string {
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "fresh", private: true, type: "module" }));
  execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", tarball], {
    cwd: project,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const build = join("node_modules", "better-sqlite3", "build");
  cpSync(join(source, build), join(project, build), { recursive: true });
  return project;
}

/** Installs what a clone of the repository needs, and compiles it, as `npm install` does there. */
function installClone(source: string, clone: string): { seconds: number; megabytes: number } {
  mkdirSync(clone);
  for (const name of ["package.json", "package-lock.json", ".npmrc"]) cpSync(join(source, name), join(clone, name));
  const fromMs = performance.now();
  execFileSync("npm", ["install", "--no-audit", "--no-fund"], { cwd: clone, stdio: ["ignore", "ignore", "inherit"] });
  const seconds = (performance.now() - fromMs) / 1_000;
  return { seconds, megabytes: megabytes(join(clone, "node_modules")) };
}

function importCpuMs(project: string, name: string): number {
  const program = join(project, "import.mjs");
  writeFileSync(program, `import ${JSON.stringify(name)};\n`);
  return medianCpuMs(project, [program]);
}

function recallCliCpuMs(project: string, db: string): number {
  const main = join(project, "node_modules", ".bin", "coppice");
  execFileSync(process.execPath, [main, "--db", db, "import", TRANSCRIPTS], { stdio: "ignore" });
  return medianCpuMs(project, [main, "--db", db, "recall", QUESTION]);
}

/** The first run warms the file cache and is not counted. */
function medianCpuMs(project: string, args: readonly string[]): number {
  const reporter = join(project, "report-cpu.cjs");
  writeFileSync(reporter, REPORT_CPU);
  const runs = Array.from({ length: RUNS + 1 }, () => cpuMs(["--require", reporter, ...args]));
  return median(runs.slice(1));
}

function cpuMs(args: readonly string[]): number {
  const command = `exec "$0" "$@" 3>&1 >/dev/null`;
  return Number(execFileSync("/bin/sh", ["-c", command, process.execPath, ...args], { encoding: "utf8" }));
}

/** Returns the space that the files of a folder take on the disk, in units of 1024 × 1024 bytes, as `du -sm` counts it. */
function megabytes(folder: string): number {
  let blocks = 0;
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    blocks += lstatSync(join(folder, name)).blocks;
  }
  return (blocks * 512) / 1024 / 1024;
}
