import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { HOSTILE_FILES } from "../../scripts/hostile/files.ts";
import { CliFolder, longSession, MAIN } from "../support/cli.ts";

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

/** Starts `coppice` with a process group of its own. */
function start(folder: CliFolder, args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: folder.path,
    env: { PATH: process.env.PATH, HOME: folder.path, COPPICE_DB: folder.db },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const group = -child.pid!;
  const isRunning = (): boolean => {
    try {
      return process.kill(group, 0);
    } catch {
      return false;
    }
  };
  onTestFinished(() => {
    if (isRunning()) process.kill(group, "SIGKILL");
  });
  const said = { text: "" };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said.text += text;
    });
  }
  const ended = new Promise<number | string | null>((resolve) =>
    child.once("exit", (code, signal) => resolve(signal ?? code)),
  );
  return { child, group, said, ended, isRunning };
}

describe("a database in which SQLite gets stuck", () => {
  test.concurrent.each([{ isLarge: false }, { isLarge: true }])(
    "is named by import, which reads the other files: %j",
    async (size) => {
      const folder = hostileFolder(size);
      const { exitCode, stderr } = await folder.run(["import", folder.path]);
      expect(exitCode).toBe(0);
      expect(stderr).toContain(
        `${folder.path}/b.db: Cannot import ${folder.path}/b.db: SQLite did not return for 10 seconds.\n`,
      );
      expect((await folder.json("stats")).messageCount).toBe(4);
    },
  );

  test.concurrent("is named by watch --once, which reads the other files", async () => {
    const folder = hostileFolder();
    const { exitCode, stderr } = await folder.run(["watch", "--once", folder.path]);
    expect(exitCode).toBe(0);
    expect(stderr).toContain("b.db: Cannot import");
    expect((await folder.json("stats")).messageCount).toBe(4);
  });

  test.concurrent("is named by watch, which goes on", async () => {
    const folder = hostileFolder();
    const { said, ended, child } = start(folder, ["watch", folder.path]);
    await vi.waitFor(() => expect(said.text).toContain("Up to date."), { timeout: 40_000 });
    expect(said.text).toContain("b.db: Cannot import");
    folder.jsonl("d.jsonl", longSession("d", 2));
    await vi.waitFor(() => expect(said.text).toContain("d.jsonl: 2 new messages"), { timeout: 10_000 });
    child.kill("SIGINT");
    expect(await ended).toBe(0);
  });

  const ends = [
    { command: "import", signal: "SIGINT", code: 130 },
    { command: "import", signal: "SIGTERM", code: 143 },
    { command: "watch", signal: "SIGINT", code: 0 },
    { command: "watch", signal: "SIGTERM", code: 0 },
  ] as const;
  const cases = ends.flatMap((end) => [false, true].map((isLarge) => ({ ...end, isLarge })));
  test.each(cases)(
    "does not keep $command from ending at $signal: $isLarge",
    async ({ command, signal, code, isLarge }) => {
      const folder = hostileFolder({ isLarge });
      const { child, ended, isRunning } = start(folder, [command, folder.path]);
      await wait(2_500);
      const fromMs = performance.now();
      child.kill(signal);
      expect(await ended).toBe(code);
      expect(performance.now() - fromMs).toBeLessThan(2_000);
      await vi.waitFor(() => expect(isRunning()).toBe(false), { timeout: 5_000 });
    },
  );

  test("is left alone when the program that reads it is killed", async () => {
    const folder = hostileFolder();
    const { child, ended, isRunning } = start(folder, ["import", folder.path]);
    await wait(2_500);
    child.kill("SIGKILL");
    await ended;
    await vi.waitFor(() => expect(isRunning()).toBe(false), { timeout: 5_000 });
  });
});
