import { createHash } from "node:crypto";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore, type Store } from "../../../src/index.ts";
import { allRows, inDatabase } from "../../support/rows.ts";
import { talk } from "../../support/said.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

/** A store with 60 messages in one session, and long strings in another. */
function filledStore(longCount = 4): Store {
  const store = temporaryStore();
  store.session("talk", { project: "web", hotSize: 4 }).append(talk(60));
  store.session("long").append(Array.from({ length: longCount }, (_, seq) => ({ role: "user", content: noise(seq) })));
  return store;
}

/** A store of about 5 MB, which takes several turns to copy. */
function largeStore(): Store {
  return filledStore(60);
}

/** 100,000 characters that hardly compress. */
function noise(seed: number): string {
  return createHash("shake256", { outputLength: 75_000 }).update(String(seed)).digest("base64");
}

function namesBeside(path: string): string[] {
  return readdirSync(dirname(path)).sort();
}

describe("a backup", () => {
  test("holds every row of the store, and opens like one", async () => {
    const store = filledStore();
    const path = temporaryPath();
    const report = await store.backup(path);
    expect(report).toEqual({
      path,
      byteLength: statSync(path).size,
      sessionCount: 2,
      messageCount: 64,
      logPosition: store.stats().logPosition,
    });
    expect(report.logPosition).toBeGreaterThan(10);
    expect(allRows(path)).toEqual(allRows(store.path));
    const copy = openedStore(path);
    expect(copy.verify()).toMatchObject({ ok: true, messageCount: 64 });
    expect(copy.session("talk").append({ role: "user", content: "and on it goes" })).toMatchObject({ seq: 60 });
  });

  test("is one snapshot, whatever others write meanwhile, and holds none of them up", async () => {
    const store = largeStore();
    const other = openedStore(store.path);
    const before = allRows(store.path);
    const path = temporaryPath();
    let turnCount = 0;
    await store.backup(path, {
      onProgress: () => {
        turnCount += 1;
        other.session("talk").append({ role: "user", content: `meanwhile ${turnCount}` });
        store.session("long").append({ role: "user", content: `here too ${turnCount}` });
      },
    });
    expect(turnCount).toBeGreaterThan(2);
    expect(allRows(path)).toEqual(before);
    expect(store.stats().messageCount).toBe(120 + 2 * turnCount);
    expect(store.verify().ok).toBe(true);
  });

  test("lets other work of the process in between, and says how far it is", async () => {
    const store = largeStore();
    let otherTurns = 0;
    let running = true;
    const turn = (): void => {
      otherTurns += 1;
      if (running) setImmediate(turn);
    };
    setImmediate(turn);
    const path = temporaryPath();
    const progress: number[] = [];
    await store.backup(path, {
      onProgress: ({ copiedBytes, totalBytes }) => void progress.push(copiedBytes / totalBytes),
    });
    running = false;
    expect(otherTurns).toBeGreaterThan(5);
    expect(progress).toEqual(progress.toSorted((left, right) => left - right));
    expect(new Set(progress).size).toBeGreaterThan(2);
    expect(progress.every((share) => share >= 0 && share <= 1)).toBe(true);
  });

  test("is for its owner only, stands alone, and can be read where nothing can be written", async () => {
    const store = filledStore();
    const path = temporaryPath();
    await store.backup(path);
    expect(namesBeside(path)).toEqual(["agent.db"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(path).nlink).toBe(1);
    expect(inDatabase(path, (database) => database.pragma("journal_mode", { simple: true }))).toBe("delete");
    chmodSync(path, 0o400);
    chmodSync(dirname(path), 0o500);
    const copy = openStore(path, { readonly: true });
    expect(copy.resume("talk").messages()).toEqual(store.session("talk").messages());
    copy.close();
    expect(namesBeside(path)).toEqual(["agent.db"]);
    chmodSync(dirname(path), 0o700);
  });

  test("can be made from a store that is open to read only", async () => {
    const { path } = filledStore();
    const reader = openedStore(path, { readonly: true });
    const target = temporaryPath();
    expect(await reader.backup(target)).toMatchObject({ messageCount: 64 });
    expect(allRows(target)).toEqual(allRows(path));
  });

  test("saves a store that lives in memory", async () => {
    const store = openedStore(":memory:");
    store.session("s").append(talk(50));
    const path = temporaryPath();
    expect(await store.backup(path)).toMatchObject({ sessionCount: 1, messageCount: 50 });
    expect(openedStore(path).session("s").messages()).toEqual(store.session("s").messages());
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

describe("a target", () => {
  test("that is there already is refused and left as it was, unless it is to be overwritten", async () => {
    const store = filledStore();
    const path = temporaryPath();
    writeFileSync(path, "precious");
    await expect(store.backup(path)).rejects.toMatchObject({ code: "FILE_EXISTS", details: { path } });
    expect(readFileSync(path, "utf8")).toBe("precious");
    expect(namesBeside(path)).toEqual(["agent.db"]);
    await store.backup(path, { overwrite: true });
    expect(allRows(path)).toEqual(allRows(store.path));
  });

  test("that comes into being while the copy is made is not overwritten", async () => {
    const store = filledStore();
    const path = temporaryPath();
    const making = store.backup(path, { onProgress: () => writeFileSync(path, "precious") });
    await expect(making).rejects.toMatchObject({ code: "FILE_EXISTS" });
    expect(readFileSync(path, "utf8")).toBe("precious");
    expect(namesBeside(path)).toEqual(["agent.db"]);
  });

  test("that is the store itself is refused, under any name", async () => {
    const store = filledStore();
    const alias = join(temporaryFolder(), "alias.db");
    linkSync(store.path, alias);
    for (const path of [store.path, alias]) {
      await expect(store.backup(path, { overwrite: true })).rejects.toMatchObject({
        code: "FILE_NOT_USABLE",
        message: `Cannot use ${path}: it is the store itself.`,
      });
    }
    expect(store.verify()).toMatchObject({ ok: true, messageCount: 64 });
  });

  test.each(["-wal", "-journal"])("beside which another database's %s stands is refused", async (suffix) => {
    const store = filledStore();
    const path = temporaryPath();
    writeFileSync(`${path}${suffix}`, "pages of another database");
    for (const overwrite of [false, true]) {
      await expect(store.backup(path, { overwrite })).rejects.toMatchObject({
        code: "FILE_NOT_USABLE",
        message: expect.stringContaining(`agent.db${suffix} belongs to a database that is, or was, at this path.`),
      });
    }
    expect(namesBeside(path)).toEqual([`agent.db${suffix}`]);
  });

  test("beside which one comes to stand while the copy is made is left as it was", async () => {
    const store = filledStore();
    const path = temporaryPath();
    writeFileSync(path, "precious");
    const making = store.backup(path, { overwrite: true, onProgress: () => writeFileSync(`${path}-wal`, "pages") });
    await expect(making).rejects.toMatchObject({ code: "FILE_NOT_USABLE" });
    expect(readFileSync(path, "utf8")).toBe("precious");
    expect(namesBeside(path)).toEqual(["agent.db", "agent.db-wal"]);
  });

  test("that is a folder, or in none, is refused", async () => {
    const store = filledStore();
    const folder = temporaryFolder();
    mkdirSync(join(folder, "inner"));
    await expect(store.backup(join(folder, "inner"), { overwrite: true })).rejects.toMatchObject({
      code: "FILE_NOT_USABLE",
      message: expect.stringContaining("it is a folder"),
    });
    await expect(store.backup(join(folder, "none", "agent.db"))).rejects.toMatchObject({
      code: "FILE_NOT_FOUND",
      details: { path: join(folder, "none") },
    });
    writeFileSync(join(folder, "file"), "");
    await expect(store.backup(join(folder, "file", "agent.db"))).rejects.toMatchObject({ code: "FILE_NOT_USABLE" });
    expect(namesBeside(join(folder, "x"))).toEqual(["file", "inner"]);
  });
});

describe("a backup that fails leaves nothing behind", () => {
  test("where the store is damaged", async () => {
    const { path } = filledStore();
    const reader = openedStore(path, { readonly: true });
    inDatabase(path, (database) => database.pragma("wal_checkpoint(TRUNCATE)"));
    const bytes = readFileSync(path);
    bytes.fill(0xff, bytes.length - 30 * 4_096, bytes.length - 10 * 4_096); // twenty pages of long strings
    writeFileSync(path, bytes);
    const target = temporaryPath();
    await expect(reader.backup(target)).rejects.toMatchObject({ code: "STORE_CORRUPT", details: { path } });
    expect(namesBeside(target)).toEqual([]);
  });

  test("where whoever watches it throws", async () => {
    const store = filledStore();
    const path = temporaryPath();
    const enough = new Error("enough");
    const watch = (): never => {
      throw enough;
    };
    await expect(store.backup(path, { onProgress: watch })).rejects.toBe(enough);
    expect(namesBeside(path)).toEqual([]);
  });

  test("where the store closes meanwhile, which ends the copying at once", async () => {
    const store = largeStore();
    const path = temporaryPath();
    let progressCount = 0;
    const close = (): void => {
      progressCount += 1;
      store.close();
    };
    await expect(store.backup(path, { onProgress: close })).rejects.toMatchObject({ code: "STORE_CLOSED" });
    expect(progressCount).toBe(1);
    await expect(store.backup(path)).rejects.toMatchObject({ code: "STORE_CLOSED" });
    expect(namesBeside(path)).toEqual([]);
  });

  test("where the store's file is gone", async () => {
    const store = filledStore();
    const gone = store.path;
    unlinkSync(gone);
    const path = temporaryPath();
    await expect(store.backup(path)).rejects.toMatchObject({ code: "FILE_NOT_FOUND", details: { path: gone } });
    expect(namesBeside(path)).toEqual([]);
  });
});
