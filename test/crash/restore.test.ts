import { execFileSync } from "node:child_process";
import fs, { readdirSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/store/file/open.ts";
import { restoreStore } from "../../src/store/file/restore.ts";
import { user } from "../support/said.ts";
import { copyStore } from "../support/store-files.ts";
import { openedStore, temporaryFolder, temporaryPath } from "../support/temporary-store.ts";

/** A backup of one message, and what a killed process has left, of which two more are in the log. */
async function left(): Promise<{ folder: string; backup: string }> {
  const source = temporaryPath();
  const folder = temporaryFolder();
  const backup = join(temporaryFolder(), "backup.db");
  const first = openedStore(source);
  first.session("s").append(user("one"));
  await first.backup(backup);
  first.close();
  const second = openedStore(source);
  second.session("s").append(user("two"));
  second.session("s").append(user("three"));
  copyStore(source, join(folder, "agent.db"));
  return { folder, backup };
}

/** While `run` runs, calls `see` before each call that changes a name of a file. */
async function watchingNames(see: () => void, run: () => Promise<void>): Promise<void> {
  const names = ["linkSync", "copyFileSync", "renameSync", "unlinkSync", "rmSync", "mkdtempSync"] as const;
  const calls = names.map((name) => [name, fs[name] as (...args: unknown[]) => unknown] as const);
  for (const [name, call] of calls) {
    const watched = (...args: unknown[]): unknown => {
      see();
      return call(...args);
    };
    Object.assign(fs, { [name]: watched });
  }
  syncBuiltinESMExports();
  try {
    await run();
  } finally {
    Object.assign(fs, Object.fromEntries(calls));
    syncBuiltinESMExports();
  }
}

async function restore(backup: string, path: string): Promise<void> {
  const database = openDatabase(backup, { readonly: true, durability: "process", busyTimeoutMs: 1_000 });
  try {
    const options = { onProgress: undefined, nowMs: 1_700_000_000_000 };
    const { keptAt } = await restoreStore(database, path, options, new AbortController().signal);
    expect(keptAt).toBe(`${path}.replaced-2023-11-14T22-13-20`);
  } finally {
    database.client.close();
  }
}

/**
 * Goal: whenever a restore is killed, the store is the former one with its log or the new one, and the former one is not lost.
 * Method: the folder is copied, with its links, before each call that changes a name.
 */
test("a restore that is killed leaves the former store with its log, or the new one", async () => {
  const { folder, backup } = await left();
  const copies: string[] = [];
  const outer = temporaryFolder();
  const see = (): void => {
    const copy = join(outer, String(copies.length));
    execFileSync("cp", ["-a", folder, copy]);
    copies.push(copy);
  };
  await watchingNames(see, () => restore(backup, join(folder, "agent.db")));
  const seen = [...copies, folder].map((where) => {
    const store = openedStore(join(where, "agent.db"));
    const count = store.resume("s").messages().length;
    expect(store.verify()).toMatchObject({ ok: true, messageCount: count });
    store.session("s").append(user("and on"));
    store.close();
    const kept = readdirSync(where).find((name) => /\.replaced-[\dT-]*$/.test(name));
    if (count === 1) expect(openedStore(join(where, kept!)).resume("s").messages()).toHaveLength(3);
    return count;
  });
  expect([...new Set(seen)]).toEqual([3, 1]);
  expect(seen.filter((count) => count === 3).length).toBeGreaterThanOrEqual(4);
  expect(seen.filter((count) => count === 1).length).toBeGreaterThanOrEqual(3);
});

test("another restore goes on where one was killed", async () => {
  const { folder, backup } = await left();
  const path = join(folder, "agent.db");
  fs.linkSync(path, `${path}.replaced-2023-01-01T00-00-00`);
  await restore(backup, path);
  expect(openedStore(path).resume("s").messages()).toHaveLength(1);
});
