import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, expect, inject, test } from "vitest";
import { CliFolder } from "../support/cli.ts";

const MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const DRIVER = "better-sqlite3";

/** Version 12 has an install script, which compiles. Version 13 brings its binary, and this test leaves that out. */
const { version } = JSON.parse(readFileSync(join(MODULES, DRIVER, "package.json"), "utf8"));
const isCompiled = version.startsWith("12.");
const [reason, fix] = isCompiled
  ? ["Could not locate the bindings file", "npm rebuild"]
  : ["Cannot find module '[^']*better_sqlite3\\.node'", "npm run build-release"];

const folder = new CliFolder();
const installed = join(folder.path, "coppice");
const modules = join(installed, "node_modules");
const binary = join(modules, DRIVER, "build", "Release", "better_sqlite3.node");

/** The package where npm has installed everything, and run no install script. */
beforeAll(() => {
  for (const name of ["dist", "package.json"]) {
    cpSync(join(inject("packageFolder"), name), join(installed, name), { recursive: true });
  }
  mkdirSync(modules);
  for (const name of readdirSync(MODULES)) if (name !== DRIVER) symlinkSync(join(MODULES, name), join(modules, name));
  for (const name of ["lib", "package.json"]) {
    cpSync(join(MODULES, DRIVER, name), join(modules, DRIVER, name), { recursive: true });
  }
  folder.jsonl("chat.jsonl", [{ session: "s", role: "user", content: "Is the lamp lit?" }]);
});

function coppice(...args: string[]) {
  const main = join(installed, "dist", "coppice.cjs");
  return spawnSync(process.execPath, [main, ...args], {
    cwd: folder.path,
    encoding: "utf8",
    input: JSON.stringify({ session_id: "now", cwd: folder.path, source: "startup" }),
    env: { HOME: folder.path },
  });
}

test("whoever has the driver without its binary is told how to get it", () => {
  const { status, stderr } = coppice("import", "chat.jsonl");
  expect([status, stderr]).toEqual([
    1,
    expect.stringMatching(
      new RegExp(
        `^coppice: A store needs the package \`better-sqlite3\`, which cannot be loaded here: ${reason}\\.\n.*${fix}`,
      ),
    ),
  ]);
  writeFileSync(folder.db, "");
  expect(coppice("doctor", "--db", folder.db)).toMatchObject({
    status: 1,
    stdout: expect.stringContaining(fix),
  });
});

test("and so is whoever has one that was made for something else", () => {
  mkdirSync(dirname(binary), { recursive: true });
  writeFileSync(binary, "no shared object");
  const { status, stderr } = coppice("import", "chat.jsonl", "--json");
  expect([status, JSON.parse(stderr).error]).toMatchObject([1, { code: "PACKAGE_MISSING" }]);
});

test("a hook ends with 0 and says so in its log alone, also without any driver", () => {
  const log = `${folder.db}-coppice-hooks/log.jsonl`;
  const fired = () => coppice("hook", "session-start", "--agent", "claude-code", "--db", folder.db);
  const failures = (): string[] =>
    readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .flatMap((line) => JSON.parse(line).failure ?? []);
  const silent = { status: 0, stdout: "", stderr: "" };
  expect(fired()).toMatchObject(silent);
  rmSync(join(modules, DRIVER), { recursive: true });
  expect(fired()).toMatchObject(silent);
  expect(failures()).toEqual([expect.any(String), expect.stringContaining("Cannot find package 'better-sqlite3'")]);
});
