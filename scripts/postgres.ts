import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findPostgres, POSTGRES_FOLDER, POSTGRES_PACKAGE } from "../test/support/postgres.ts";
import { installPackages } from "./install.ts";

/**
 * `npm run postgres` brings a Postgres server for the tests of the hub, and installs nothing: it unpacks the packages
 * of Debian's stable release into a cache folder, with all libraries that they need, and needs no root. Elsewhere it brings npm's
 * server, unless the machine has one.
 */
const RELEASE = "trixie";
const VERSION = "17";
const PROGRAMS = ["postgres", "initdb"];
const NPM_VERSION = "18.4.0-beta.17";

try {
  if (findPostgresIfAny() === undefined) bringPostgres();
} catch (error) {
  console.log(`Debian's Postgres could not be brought: ${reasonOf(error)}`);
  bringFromNpm();
}
console.log(`Postgres: ${findPostgres()}`);

function findPostgresIfAny(): string | undefined {
  try {
    return findPostgres();
  } catch {
    return undefined;
  }
}

function bringFromNpm(): void {
  installPackages(POSTGRES_FOLDER, { [POSTGRES_PACKAGE]: NPM_VERSION });
  // The package's install script, which makes links between its libraries.
  const cwd = join(POSTGRES_FOLDER, "node_modules", POSTGRES_PACKAGE);
  execFileSync(process.execPath, ["scripts/hydrate-symlinks.js"], { cwd });
}

function bringPostgres(): void {
  mkdirSync(dirname(POSTGRES_FOLDER), { recursive: true });
  const work = mkdtempSync(`${POSTGRES_FOLDER}-`);
  try {
    const root = join(work, "root");
    for (const folder of ["lists/partial", "cache/archives/partial", "root"])
      mkdirSync(join(work, folder), { recursive: true });
    // No package counts as installed, so apt names all libraries.
    writeFileSync(join(work, "status"), "");
    writeFileSync(join(work, "sources.list"), `deb ${debianMirror()} ${RELEASE} main\n`);
    const options = [
      `Dir::State::Lists=${join(work, "lists")}`,
      `Dir::State::status=${join(work, "status")}`,
      `Dir::Cache=${join(work, "cache")}`,
      `Dir::Etc::sourcelist=${join(work, "sources.list")}`,
      "Dir::Etc::sourceparts=/dev/null",
      "APT::Sandbox::User=root",
      "Debug::NoLocking=1",
    ].flatMap((option) => ["-o", option]);
    const apt = (...args: string[]): string =>
      execFileSync("apt-get", [...options, ...args], { cwd: work, encoding: "utf8", stdio: "pipe", timeout: 300_000 });
    apt("update");
    const wanted = [`postgresql-${VERSION}`, "patchelf"];
    const planned = apt("install", "--simulate", "--no-install-recommends", ...wanted);
    apt("download", ...[...planned.matchAll(/^Inst (\S+)/gm)].map(([, name]) => name!));
    for (const file of readdirSync(work).filter((name) => name.endsWith(".deb")))
      execFileSync("dpkg", ["-x", join(work, file), root], { stdio: "pipe" });
    useOwnLibraries(root);
    rmSync(POSTGRES_FOLDER, { recursive: true, force: true });
    renameSync(root, POSTGRES_FOLDER);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** The programs are of another release than the machine, so they must not find the machine's libraries. */
function useOwnLibraries(root: string): void {
  const libraries = join("usr/lib", readdirSync(join(root, "usr/lib")).find((name) => name.endsWith("-linux-gnu"))!);
  const loader = join(libraries, readdirSync(join(root, libraries)).find((name) => name.startsWith("ld-linux"))!);
  for (const program of PROGRAMS) {
    const patchelf = [join(root, "usr/bin/patchelf"), "--force-rpath"];
    const paths = ["--set-interpreter", join(POSTGRES_FOLDER, loader), "--set-rpath", join(POSTGRES_FOLDER, libraries)];
    const file = join(root, "usr/lib/postgresql", VERSION, "bin", program);
    execFileSync(join(root, loader), ["--library-path", join(root, libraries), ...patchelf, ...paths, file]);
  }
}

/** Returns the mirror from which this machine installs its own packages. */
function debianMirror(): string {
  const codename = /^VERSION_CODENAME=(.*)$/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
  const format = "$(RELEASE) $(COMPONENT) $(REPO_URI)";
  const targets = execFileSync("apt-get", ["indextargets", "--format", format, "Created-By: Packages"], {
    encoding: "utf8",
  });
  const own = targets.split("\n").find((target) => target.startsWith(`${codename} main `));
  if (own === undefined) throw new Error("this machine installs no packages of Debian");
  return own.split(" ")[2]!;
}

function reasonOf(error: unknown): string {
  const { message, stderr } = error as Error & { stderr?: string };
  return stderr?.trim().split("\n").at(-1) || message;
}
