import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../support/temporary-store.ts";

const WATCHDOG = fileURLToPath(new URL("../../../src/hooks/watchdog.ts", import.meta.url));

/** Runs code whose thread is blocked, in a process that a watchdog ends after 0.2 s. */
async function ended(blocking: string): Promise<{ signal: NodeJS.Signals | null; ms: number }> {
  const code = `
    const fs = await import("node:fs");
    const { killAfter } = await import(${JSON.stringify(WATCHDOG)});
    killAfter(200);
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

test.each(["a pipe that nobody writes to", "a loop"])("a process is killed that is blocked by %s", async (name) => {
  const pipe = join(temporaryFolder(), "pipe");
  execFileSync("mkfifo", [pipe]);
  const { signal, ms } = await ended(name === "a loop" ? "for (;;);" : `fs.openSync(${JSON.stringify(pipe)}, "r");`);
  expect(signal).toBe("SIGKILL");
  expect(ms).toBeLessThan(5_000);
});

test("a process that ends in time is not killed", async () => {
  expect((await ended("process.exit(0);")).signal).toBe(null);
});
