import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { forget } from "../../../src/store/changes/forget.ts";
import { user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const SECRET = "zqvbxkj-secret-word";

function holds(path: string): boolean {
  return [path, `${path}-wal`].some((file) => {
    try {
      return readFileSync(file).includes(SECRET);
    } catch {
      return false;
    }
  });
}

function isDue(store: Store): boolean {
  return store.doctor().some(({ check }) => check === "erasing");
}

function filled(path: string): Store {
  const store = openedStore(path);
  store.session("kept").append(user("stays"));
  store.session("s").append(user(SECRET.padEnd(3_000, " and more")));
  return store;
}

/** Deletes the rows as `Store.forget` does, and then nothing else, as if the process were killed. */
function killedBeforeErasing(store: Store): void {
  const { repositories } = internalsOf(store);
  const terms = { titleOf: () => null, dryRun: false, forgottenAtMs: 1 };
  forget(repositories, [{ sessionId: "s" }], terms as unknown as Parameters<typeof forget>[2]);
}

test.each(["upkeep", "close"])(
  "what a killed process has forgotten leaves the file by %s, and nobody names it",
  async (by) => {
    const path = temporaryPath();
    const store = filled(path);
    killedBeforeErasing(store);
    expect(holds(path)).toBe(true);
    expect(isDue(store)).toBe(true);
    if (by === "upkeep") await store.upkeep();
    else openedStore(path).close();
    expect(holds(path)).toBe(false);
    expect(isDue(store)).toBe(false);
  },
);

test("beside a reader it stays due, and goes when the reader has ended", () => {
  const path = temporaryPath();
  const store = openedStore(path, { busyTimeoutMs: 50 });
  store.session("s").append(user(SECRET.padEnd(3_000, " and more")));
  const reader = new Database(path, { readonly: true });
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM messages").get();
  expect(store.forget("s").erased).toBe(false);
  expect(isDue(store)).toBe(true);
  reader.close();
  openedStore(path).close();
  expect(holds(path)).toBe(false);
  expect(isDue(store)).toBe(false);
});

test("a dry run makes nothing due", () => {
  const store = filled(temporaryPath());
  store.forget("s", { dryRun: true });
  expect(isDue(store)).toBe(false);
  expect(store.forget("s").erased).toBe(true);
  expect(isDue(store)).toBe(false);
});

test("the file is rewritten although the index beside it cannot be removed, and that stays due", async () => {
  const path = temporaryPath();
  const store = filled(path);
  const index = `${path}-coppice-ann.hnsw`;
  mkdirSync(join(index, "in-the-way"), { recursive: true });
  expect(store.forget("s").erased).toBe(false);
  expect(holds(path)).toBe(false);
  expect(isDue(store)).toBe(true);
  rmSync(index, { recursive: true });
  await store.upkeep();
  expect(isDue(store)).toBe(false);
});
