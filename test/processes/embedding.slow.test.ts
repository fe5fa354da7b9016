import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { expect, test } from "vitest";
import { user } from "../support/said.ts";
import { scriptedEmbedder } from "../support/scripted-embedder.ts";
import { openedStore, temporaryFolder } from "../support/temporary-store.ts";

const CHILD = fileURLToPath(new URL("../support/embedding-child.ts", import.meta.url));
const MESSAGES = 400;
const KILLS = 5;

/**
 * Goal: of any number of processes that embed one store, one asks for each message, and when it dies, another one asks again;
 * nobody pays for what a living process has paid for, and in the end every message has its vector.
 * Method: six processes embed a store and note what they ask for before they get it; five of them are killed soon after
 * their first request.
 */
test("nobody pays twice for a vector but for those who died", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "agent.db");
  const paid = join(folder, "paid.jsonl");
  const embedder = scriptedEmbedder({ textsMax: 5 });
  const store = openedStore(path, { embedder });
  for (let number = 0; number < MESSAGES; number++) store.session(`s${number % 3}`).append(user(`message ${number}`));

  const epochMs = String(Date.now());
  const begin = (): ChildProcess =>
    spawn(process.execPath, [...process.execArgv, CHILD, path, paid, epochMs], { stdio: "inherit" });
  const askedBy = (pid: number): string[] => asked().flatMap((one) => (one.pid === pid ? [one.text] : []));
  const asked = (): { pid: number; text: string }[] =>
    existsSync(paid)
      ? readFileSync(paid, "utf8")
          .split("\n")
          .filter(Boolean)
          .map((line) => JSON.parse(line))
      : [];

  const steadyEnd = once(begin(), "exit");
  const dead = new Set<number>();
  const pauses = fc.sample(fc.integer({ min: 0, max: 400 }), KILLS);
  const deaths = pauses.map(async (pauseMs) => {
    const child = begin();
    const end = once(child, "exit");
    while (askedBy(child.pid!).length === 0 && child.exitCode === null) await sleep(20);
    await sleep(pauseMs);
    child.kill("SIGKILL");
    const [, signal] = await end;
    if (signal === "SIGKILL") dead.add(child.pid!);
  });
  await Promise.all(deaths);
  expect(await steadyEnd).toEqual([0, null]);

  expect(dead.size).toBeGreaterThan(1);
  const askers = new Map<string, number[]>();
  for (const { pid, text } of asked()) askers.set(text, [...(askers.get(text) ?? []), pid]);
  expect(askers.size).toBe(MESSAGES);
  const paidTwice = [...askers.values()].filter((pids) => pids.slice(0, -1).some((pid) => !dead.has(pid)));
  expect(paidTwice).toEqual([]);
  expect(store.stats()).toMatchObject({ pendingVectorCount: 0, withoutVectorCount: 0 });
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
}, 120_000);
