import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../support/temporary-store.ts";

const WATCHDOG = fileURLToPath(new URL("../../../src/hooks/watchdog.ts", import.meta.url));

/** Runs code whose thread is blocked, in a process that a watchdog ends after 0.2 s with a line for `log`. */
async function ended(blocking: string, log: string): Promise<{ signal: NodeJS.Signals | null; ms: number }> {
  const code = `
    const fs = await import("node:fs");
    const { killAfter } = await import(${JSON.stringify(WATCHDOG)});
    killAfter(200, { path: ${JSON.stringify(log)}, line: "blocked\\n" });
    fs.writeSync(1, "begun");
    ${blocking}
  `;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "--eval", code]);
  onTestFinished(() => void child.kill("SIGKILL"));
  let fromMs = 0;
  child.stdout.once("data", () => {
    fromMs = performance.now();
  });
  const signal = await new Promise<NodeJS.Signals | null>((resolve) => child.once("close", (_, by) => resolve(by)));
  return { signal, ms: performance.now() - fromMs };
}

test.each(["a pipe that nobody writes to", "a loop", "a pipe in the place of its log"])(
  "a process is killed that is blocked by %s, and its log says so if that can be written",
  async (name) => {
    const folder = temporaryFolder();
    const [pipe, logPipe, log] = [join(folder, "pipe"), join(folder, "log-pipe"), join(folder, "log")];
    execFileSync("mkfifo", [pipe, logPipe]);
    writeFileSync(log, "");
    const blocking = name === "a loop" ? "for (;;);" : `fs.openSync(${JSON.stringify(pipe)}, "r");`;
    const { signal, ms } = await ended(blocking, name.endsWith("log") ? logPipe : log);
    expect(signal).toBe("SIGKILL");
    expect(ms).toBeLessThan(5_000);
    expect(readFileSync(log, "utf8")).toBe(name.endsWith("log") ? "" : "blocked\n");
  },
);

test("a process that ends in time is not killed, and nothing is logged", async () => {
  const log = join(temporaryFolder(), "log");
  expect((await ended("process.exit(0);", log)).signal).toBe(null);
  expect(existsSync(log)).toBe(false);
});
