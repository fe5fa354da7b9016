import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, type TestContext, test } from "vitest";
import { HOSTILE_FILES } from "../../scripts/hostile/files.ts";
import { CliFolder, longSession } from "../support/cli.ts";

/** It ends at once. A loaded machine takes longer. */
const END_MS_MAX = 6_000;

/** A folder with a database in which SQLite gets stuck, between two good files. */
function hostileFolder({ isLarge = false } = {}): CliFolder {
  const folder = new CliFolder();
  folder.jsonl("a.jsonl", longSession("a", 2));
  HOSTILE_FILES["endless schema"]!(folder.path, "b");
  folder.jsonl("c.jsonl", longSession("c", 2));
  // Large files are read in a thread.
  const path = join(folder.path, "b.db");
  if (isLarge) writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.alloc(2 * 1024 * 1024)]));
  return folder;
}

/** Starts `coppice` with a process group of its own, and tells whether a process of it is running. */
function start(folder: CliFolder, args: readonly string[], context: TestContext) {
  const started = folder.start(args, { isGroup: true }, context);
  const isRunning = (): boolean => {
    try {
      return process.kill(-started.child.pid!, 0);
    } catch {
      return false;
    }
  };
  context.onTestFinished(() => void (isRunning() && process.kill(-started.child.pid!, "SIGKILL")));
  return { ...started, isRunning };
}

/** @throws {Error} if there is no `pgrep`. */
function processesOfGroup(id: number): number {
  const { stdout, error } = spawnSync("pgrep", ["-g", String(id)], { encoding: "utf8" });
  if (error !== undefined) throw error;
  return stdout.trim().split("\n").length;
}

describe("a database in which SQLite gets stuck", () => {
  test.concurrent("is named by watch, which goes on", async (context) => {
    const { expect } = context;
    const folder = hostileFolder();
    const { stdout, stderr, ended, child } = start(folder, ["watch", folder.path], context);
    const said = (): string => stdout() + stderr();
    await expect.poll(said, { timeout: 100_000 }).toContain("Up to date.");
    expect(said()).toContain("b.db: Cannot import");
    expect(said()).toContain("SQLite did not return for 10 seconds.");
    folder.jsonl("d.jsonl", longSession("d", 2));
    await expect.poll(said, { timeout: 100_000 }).toContain("d.jsonl: 2 new messages");
    child.kill("SIGINT");
    expect(await ended).toBe(0);
  });

  test.concurrent.for([
    { command: "import", signal: "SIGINT", code: 130, isLarge: false },
    { command: "import", signal: "SIGTERM", code: 143, isLarge: true },
    { command: "watch", signal: "SIGTERM", code: 0, isLarge: true },
  ] as const)("does not keep $command from ending at $signal", async ({ command, signal, code, isLarge }, context) => {
    const { expect } = context;
    const folder = hostileFolder({ isLarge });
    const { child, ended, isRunning } = start(folder, [command, folder.path], context);
    await wait(2_500);
    const fromMs = performance.now();
    child.kill(signal);
    expect(await ended).toBe(code);
    expect(performance.now() - fromMs).toBeLessThan(END_MS_MAX);
    await expect.poll(isRunning).toBe(false);
  });

  test.concurrent.for([
    { moment: "while SQLite is stuck", isBooting: false },
    { moment: "as soon as its reader has started", isBooting: true },
  ])("is left alone when the program is killed $moment", async ({ isBooting }, context) => {
    const { expect } = context;
    const folder = hostileFolder();
    const { child, ended, isRunning } = start(folder, ["import", folder.path], context);
    if (isBooting) await expect.poll(() => processesOfGroup(child.pid!), { interval: 2 }).toBe(2);
    else await wait(2_500);
    child.kill("SIGKILL");
    await ended;
    await expect.poll(isRunning, { timeout: END_MS_MAX }).toBe(false);
  });
});
