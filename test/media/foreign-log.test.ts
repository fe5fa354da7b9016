import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { fileFindings } from "../../src/store/file/file-findings.ts";
import { quoted } from "../../src/store/file/finding.ts";
import { openQuickly } from "../../src/store/quick-reader.ts";
import { inDatabase } from "../support/rows.ts";
import { talk, user } from "../support/said.ts";
import { copyStore } from "../support/store-files.ts";
import { openedStore, temporaryFolder, temporaryPath } from "../support/temporary-store.ts";

/** The files of a process that was killed, and a backup that was made before. */
async function deadStore({ later = 60 } = {}): Promise<{ path: string; backup: string }> {
  const source = temporaryPath();
  const folder = temporaryFolder();
  const [path, backup] = [join(folder, "agent.db"), join(folder, "backup.db")];
  const first = openedStore(source);
  first.session("s", { hotSize: 4, overlap: 0, evictBatch: 2 }).append(talk(40));
  await first.backup(backup);
  first.close();
  const second = openedStore(source);
  for (let count = 0; count < later; count++) second.session("s").append(user(`later ${count}`));
  copyStore(source, path);
  return { path, backup };
}

function expectForeign(path: string): void {
  const bytes = () => [path, `${path}-wal`].map((file) => readFileSync(file, "latin1")); // compared faster than buffers
  const before = bytes();
  const foreign = expect.objectContaining({
    code: "FILE_NOT_USABLE",
    message: expect.stringContaining(`the write-ahead log beside it (${path}-wal) is not its own`),
    hint: expect.stringContaining(`mv ${quoted(`${path}-wal`)} ${quoted(`${path}.former-wal`)}`),
  });
  expect(() => openStore(path)).toThrow(foreign);
  expect(() => openStore(path, { readonly: true })).toThrow(foreign);
  expect(() => openQuickly(path)).toThrow(foreign);
  expect(bytes()).toEqual(before);
}

describe("a log that is not of the file beside it is refused, and nothing is changed", () => {
  test.each([1, 60])("a backup in the place of a store that has appended %i more", async (later) => {
    const { path, backup } = await deadStore({ later });
    renameSync(backup, path);
    expectForeign(path);
    rmSync(`${path}-wal`);
    const store = openedStore(path);
    expect([store.resume("s").messages().length, store.verify().ok]).toEqual([40, true]);
  });

  test.each([0, 1])("a backup that was opened and has appended %i more", async (count) => {
    const { path, backup } = await deadStore();
    const opened = openedStore(backup);
    for (let index = 0; index < count; index++) opened.session("s").append(user("in the backup"));
    opened.close();
    copyFileSync(backup, path);
    expectForeign(path);
  });

  test("another store, and this one as it was two programs ago", async () => {
    const { path, backup } = await deadStore({ later: 1 });
    const other = temporaryPath();
    const store = openStore(other);
    store.session("t").append(user("another"));
    store.close();
    copyFileSync(other, path);
    expectForeign(path);

    const older = temporaryPath();
    for (const text of ["one", "two", "three"]) {
      const writer = openedStore(older);
      writer.session("s").append(user(text));
      if (text === "one") copyFileSync(older, backup);
      if (text === "three") copyFileSync(`${older}-wal`, `${backup}-wal`);
      writer.close();
    }
    expectForeign(backup);
  });

  test("a database of another program, with the log of a store", async () => {
    const { path } = await deadStore();
    rmSync(path);
    inDatabase(path.replace("agent", "other"), (database) =>
      database.exec("CREATE TABLE notes (text); CREATE TABLE more (text)"),
    );
    renameSync(path.replace("agent", "other"), path);
    expect(() => openStore(path)).toThrow(expect.objectContaining({ code: "FILE_NOT_USABLE" }));
  });
});

test("doctor names it instead of telling to keep it", async () => {
  const { path, backup } = await deadStore();
  renameSync(backup, path);
  const found = fileFindings(path, false).filter(({ check }) => check === "write-ahead-log");
  expect(found).toEqual([expect.objectContaining({ level: "problem", text: expect.stringContaining("not its own") })]);
});

describe("a log of the file itself is used", () => {
  test("of a process that was killed before it had written anything to the file, and of its copy", () => {
    const source = temporaryPath();
    const store = openStore(source); // all of it is in the log
    store.session("s").append(user("first"));
    const copy = copyStore(source, join(dirname(source), "copy.db"));
    expect(statSync(copy).size).toBe(4_096);
    expect(openedStore(copy, { readonly: true }).resume("s").messages()).toHaveLength(1);
    expect(openedStore(copy).resume("s").messages()).toHaveLength(1);
    store.close();
  });

  test("however many writes a transaction nests, and of those some fail", () => {
    const source = temporaryPath();
    openedStore(source).close();
    for (const text of ["one", "two"]) {
      const store = openedStore(source);
      store.atomically(() => {
        store.session("s").append(user(text));
        try {
          store.session("s").append({ role: "user", content: 7 as never });
        } catch {
          // It is refused, and the others stay.
        }
        store.session("t").append(user(text));
      });
      const left = copyStore(source, join(dirname(source), `nested-${text}.db`));
      expect(openedStore(left, { readonly: true }).resume("t").messages().at(-1)).toMatchObject({ text });
      store.close();
    }
  });

  test("whatever part of it is in the file already", async () => {
    const source = temporaryPath();
    let number = 0;
    const one = openedStore(source);
    for (const checkpoint of ["PASSIVE", "RESTART", "TRUNCATE", "PASSIVE"]) {
      for (let count = 0; count < 3; count++) {
        const other = openedStore(source); // a program that appends and ends
        other.session("s").append(talk(7));
        one.session("s").append(user("again"));
        other.close();
      }
      inDatabase(source, (database) => {
        database.pragma(`wal_checkpoint(${checkpoint})`);
        const left = copyStore(source, join(dirname(source), `left-${number++}.db`));
        expect(openedStore(left).verify().ok).toBe(true);
      });
      one.session("s").append(user("after it"));
      const left = copyStore(source, join(dirname(source), `left-${number++}.db`));
      expect(openedStore(left, { readonly: true }).resume("s").messages()).toHaveLength(
        one.resume("s").messages().length,
      );
    }
    expect(existsSync(`${source}-wal`)).toBe(true);
  });
});
