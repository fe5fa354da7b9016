import {
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Store } from "../../src/index.ts";
import { allRows, inDatabase } from "../support/rows.ts";
import { talk, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { copyStore } from "../support/store-files.ts";
import { openedStore, temporaryFolder, temporaryPath } from "../support/temporary-store.ts";

/** An open store that has acknowledged ten messages, all of them still in its write-ahead log. */
function openStoreWithTen(path = temporaryPath()): { path: string; store: Store } {
  const store = openedStore(path);
  store.session("s", { hotSize: 2, overlap: 0, evictBatch: 2 }).append(talk(10));
  return { path, store };
}

const replaced = (path: string) =>
  expect.objectContaining({
    code: "STORE_CLOSED",
    message: `${path} was deleted, moved or replaced while the store was open.`,
  });

describe("a store whose file is deleted while it is open", () => {
  test.each<[string, (store: Store) => unknown]>([
    ["append", (store) => store.session("s").append(user("lost"))],
    ["append of several", (store) => store.session("s").append(talk(30))],
    ["sync", (store) => store.session("s").sync([user("lost")])],
    ["compact", (store) => store.session("s").compact()],
    ["session", (store) => store.session("another")],
    ["verify with rebuild", (store) => store.verify({ rebuild: true })],
    ["query", (store) => store.query("SELECT 1")],
  ])("refuses %s", (name, use) => {
    const { path, store } = openStoreWithTen();
    store.session("s").append(name === "compact" ? talk(3) : []);
    if (name.startsWith("verify")) inDatabase(path, (database) => database.exec("DELETE FROM themes"));
    unlinkSync(path);
    expect(() => use(store)).toThrow(replaced(path));
    expect(existsSync(path)).toBe(false);
  });

  test("refuses to record a summary", async () => {
    const path = temporaryPath();
    const store = openedStore(path, { summarizer: scriptedSummarizer() });
    store.session("s", { hotSize: 2, overlap: 0, evictBatch: 2, resolveTokensMin: 1 }).append(talk(30));
    unlinkSync(path);
    await expect(store.session("s").resolveDirty()).rejects.toEqual(replaced(path));
  });

  test("still shows what it had, without a message that was refused", () => {
    const { path, store } = openStoreWithTen();
    unlinkSync(path);
    expect(() => store.session("s").append(user("lost"))).toThrow(replaced(path));
    expect(store.session("s").messages()).toHaveLength(10);
    expect(JSON.stringify(store.session("s").render())).not.toContain("lost");
  });

  test("names the file where the whole folder is gone", () => {
    const { path, store } = openStoreWithTen();
    rmSync(dirname(path), { recursive: true });
    expect(() => store.session("s").append(user("lost"))).toThrow(replaced(path));
    expect(() => store.query("SELECT 1")).toThrow(replaced(path));
  });
});

describe("a store whose file is moved while it is open", () => {
  test("goes on once it is moved back", () => {
    const { path, store } = openStoreWithTen();
    renameSync(path, `${path}.moved`);
    expect(() => store.session("s").append(user("refused"))).toThrow(replaced(path));
    renameSync(`${path}.moved`, path);
    expect(store.session("s").append(user("welcome back")).seq).toBe(10);
  });

  test("keeps every acknowledged message when it is closed, for when it is moved back", () => {
    const { path, store } = openStoreWithTen();
    renameSync(path, `${path}.moved`);
    expect(() => store.session("s").append(user("refused"))).toThrow(replaced(path));
    store.close();
    renameSync(`${path}.moved`, path);
    const back = openedStore(path);
    expect(back.resume("s").messages()).toHaveLength(10);
    expect(back.verify()).toMatchObject({ ok: true, messageCount: 10 });
  });
});

describe("a store whose file is replaced while it is open", () => {
  test("writes nothing to the other, and shows nothing of it", () => {
    const { path, store } = openStoreWithTen();
    const other = temporaryPath();
    const another = openedStore(other);
    another.session("t").append(user("somebody else's"));
    another.close();
    const before = readFileSync(other);
    renameSync(other, path);
    expect(() => store.session("s").append(user("refused"))).toThrow(replaced(path));
    expect(() => store.query("SELECT * FROM messages")).toThrow(replaced(path));
    expect(store.sessions().map(({ id }) => id)).toEqual(["s"]);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("notices a link that leads elsewhere", () => {
    const folder = temporaryFolder();
    for (const name of ["one", "two"]) mkdirSync(join(folder, name));
    const link = join(folder, "agent.db");
    openStoreWithTen(join(folder, "two", "agent.db")).store.close();
    symlinkSync(join(folder, "one", "agent.db"), link);
    const { store } = openStoreWithTen(link);
    unlinkSync(link);
    symlinkSync(join(folder, "two", "agent.db"), link);
    expect(() => store.session("s").append(user("refused"))).toThrow(replaced(link));
  });

  test("notices that its write-ahead log is gone, which other processes could not see any more", () => {
    const { path, store } = openStoreWithTen();
    unlinkSync(`${path}-wal`);
    expect(() => store.session("s").append(user("refused"))).toThrow(replaced(`${path}-wal`));
    store.close(); // from the log that it has open
    expect(openedStore(path).resume("s").messages()).toHaveLength(10);
  });
});

describe("a write-ahead log without its store", () => {
  test.each(["missing", "empty"])("is neither deleted nor replayed where the file is %s", (how) => {
    const { path, store } = openStoreWithTen();
    const left = copyStore(path, temporaryPath());
    const rows = allRows(path);
    store.close();
    const file = readFileSync(left);
    unlinkSync(left);
    const log = readFileSync(`${left}-wal`);
    if (how === "empty") writeFileSync(left, "");
    expect(() => openedStore(left)).toThrow(
      expect.objectContaining({
        code: "FILE_NOT_USABLE",
        message: `Cannot use ${left}: it is missing or empty, and ${left}-wal holds ${log.byteLength} bytes of it; put it back, or move the log away.`,
      }),
    );
    expect(readFileSync(`${left}-wal`).equals(log)).toBe(true);
    writeFileSync(left, file);
    expect(allRows(left)).toEqual(rows);
  });
});
