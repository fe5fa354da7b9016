import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { hasVector, run, testDatabase } from "../support/hub.ts";
import { startPostgres } from "../support/postgres.ts";

const database = await testDatabase();

test("every connection is a process of the server, so tests can end one", async () => {
  const [first, second] = await Promise.all(
    [0, 1].map(() => run<{ pid: number }>(database, "SELECT pg_backend_pid() pid")),
  );
  expect(first![0]!.pid).not.toBe(second![0]!.pid);
});

test.skipIf(!(await hasVector(database)))("pgvector is there", async () => {
  await run(database, "CREATE EXTENSION vector");
  expect(await run(database, "SELECT '[3,4]'::vector <-> '[0,0]'::vector AS distance")).toEqual([{ distance: 5 }]);
});

test("a server that crashes has what was committed when it starts again", async () => {
  const server = await startPostgres({ isDurable: true });
  try {
    await run(server.url, "CREATE TABLE kept (value int)");
    await run(server.url, "INSERT INTO kept VALUES (1)");
    await server.crash();
    await expect(run(server.url, "SELECT 1")).rejects.toThrow();
    await server.start();
    expect(await run(server.url, "SELECT value FROM kept")).toEqual([{ value: 1 }]);
  } finally {
    await server.remove();
  }
});

test("if the process of the tests is killed, its server ends and its files go", async () => {
  const support = fileURLToPath(new URL("../support/postgres.ts", import.meta.url));
  const program = `import { startPostgres } from ${JSON.stringify(support)};
    console.log((await startPostgres({ isDurable: false })).folder);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, [...process.execArgv, "--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let folder = "";
  for await (const line of createInterface({ input: child.stdout })) {
    folder = line;
    break;
  }
  expect(existsSync(folder)).toBe(true);
  child.kill("SIGKILL");
  await expect.poll(() => existsSync(folder), { timeout: 30_000 }).toBe(false);
});
