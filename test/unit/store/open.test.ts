import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { type ErrorCode, openStore, StoreError } from "../../../src/index.ts";
import { MIGRATIONS } from "../../../src/store/file/migrations.ts";
import { openDatabase, storeErrorOf } from "../../../src/store/file/open.ts";
import { slow } from "../../support/effort.ts";
import { asNobody } from "../../support/nobody.ts";
import { race } from "../../support/race.ts";
import { inDatabase, inSealed } from "../../support/rows.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

/** The refusal, which must be one of ours, must say what to do or why, and must leave the file as it was. */
function refusalOf(path: string, options: Parameters<typeof openStore>[1] = {}): { code: ErrorCode; message: string } {
  try {
    openStore(path, options).close();
  } catch (error) {
    if (StoreError.is(error)) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error(`${path} was opened`);
}

/** A store file with one message in it. */
function storeFile(): string {
  const path = temporaryPath();
  const store = openStore(path);
  store.session("s").append({ role: "user", content: "Why did the deploy fail?" });
  store.close();
  return path;
}

const NOTES = "PRAGMA application_id = 252006673; CREATE TABLE notes (a)";

describe("promise 7: a path that is no store", () => {
  test.each<[what: string, make: (path: string) => void, code: ErrorCode, message?: string]>([
    ["a text", (path) => writeFileSync(path, "hello, this is no database. ".repeat(100)), "NOT_A_STORE"],
    ["one byte", (path) => writeFileSync(path, "x"), "NOT_A_STORE"],
    ["the beginning of a database's header", (path) => writeFileSync(path, "SQLite form"), "NOT_A_STORE"],
    [
      "a database's header without a database",
      (path) => writeFileSync(path, `SQLite format 3\0${"x".repeat(1_000)}`),
      "NOT_A_STORE",
    ],
    [
      "another program's database",
      (path) => inDatabase(path, (database) => database.exec(NOTES)),
      "NOT_A_STORE",
      "PATH is not a Coppice store: it is an SQLite database of another program (application_id 252006673, 1 tables and indexes).",
    ],
    [
      "a database that has tables and says nothing of whose they are",
      (path) => inDatabase(path, (database) => database.exec("CREATE TABLE messages (a)")),
      "NOT_A_STORE",
    ],
    [
      "an empty database that another program has marked as its own",
      (path) => inDatabase(path, (database) => database.exec(`${NOTES}; DROP TABLE notes`)),
      "NOT_A_STORE",
    ],
  ])("refuses %s and leaves it as it was", (_, make, code, message) => {
    const path = temporaryPath();
    make(path);
    const before = readFileSync(path);
    const refusal = refusalOf(path);
    expect(refusal.code).toBe(code);
    if (message !== undefined) expect(refusal.message).toBe(message.replace("PATH", path));
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test.each<[what: string, place: (folder: string) => string, code: ErrorCode, message: string]>([
    [
      "a folder",
      (folder) => folder,
      "FILE_NOT_USABLE",
      "Cannot use FOLDER: it is a folder; give the path of a file in it.",
    ],
    ["what is no file", () => "/dev/null", "FILE_NOT_USABLE", "Cannot use /dev/null: it is not a regular file."],
    [
      "a path in a folder that is missing",
      (folder) => join(folder, "no", "such", "agent.db"),
      "FILE_NOT_FOUND",
      "There is no folder FOLDER/no/such for FOLDER/no/such/agent.db.",
    ],
  ])("refuses %s", (_, place, code, message) => {
    const folder = temporaryFolder();
    expect(refusalOf(place(folder))).toEqual({ code, message: message.replaceAll("FOLDER", folder) });
  });

  test.each([
    ["below a file", storeFile],
    ["in which nothing can be made", () => "/proc"],
  ])("refuses a path %s", (_, makeFolder) => {
    expect(refusalOf(join(makeFolder(), "agent.db")).code).toBe("FILE_NOT_USABLE");
  });

  test("refuses a file that it may not use", () => {
    const path = storeFile();
    chmodSync(dirname(path), 0o755);
    chmodSync(path, 0o000);
    expect(asNobody(() => refusalOf(path).code)).toBe("FILE_NOT_USABLE");
  });

  test("does not make a file that it was to read", () => {
    const path = temporaryPath();
    expect(refusalOf(path, { readonly: true })).toEqual({
      code: "FILE_NOT_FOUND",
      message: `There is no file ${path}.`,
    });
    expect(existsSync(path)).toBe(false);
  });

  test("refuses a name that the driver would shorten to another store's, and makes no file", () => {
    const path = storeFile();
    expect(refusalOf(`${path} `).code).toBe("FILE_NOT_USABLE");
    expect(existsSync(`${path} `)).toBe(false);
  });
});

describe("SQLite's own failures", () => {
  test.each<[string, ErrorCode]>([
    ["SQLITE_BUSY_SNAPSHOT", "STORE_BUSY"],
    ["SQLITE_CORRUPT_INDEX", "STORE_CORRUPT"],
    ["SQLITE_NOTADB", "NOT_A_STORE"],
    ["SQLITE_FULL", "FILE_NOT_USABLE"],
    ["SQLITE_IOERR_WRITE", "FILE_NOT_USABLE"],
    ["SQLITE_CANTOPEN", "FILE_NOT_USABLE"],
    ["SQLITE_READONLY", "FILE_NOT_USABLE"],
    ["SQLITE_PERM", "FILE_NOT_USABLE"],
  ])("calls %s %s and keeps the cause", (sqliteCode, code) => {
    const cause = new Database.SqliteError("as SQLite puts it", sqliteCode);
    const error = storeErrorOf(cause, "/tmp/agent.db");
    expect(error).toMatchObject({ name: "StoreError", code, cause });
  });

  test("leaves everything else as it came", () => {
    const ours = new Error("Invariant broken");
    expect(storeErrorOf(ours, "/tmp/agent.db")).toBe(ours);
  });
});

describe("a store of another version", () => {
  test("refuses a newer format, and leaves it as it was", () => {
    const path = storeFile();
    inDatabase(path, (database) =>
      database.exec("INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('abc', 99999999999999)"),
    );
    expect(refusalOf(path)).toEqual({
      code: "FORMAT_UNSUPPORTED",
      message: `The store ${path} has a format that this version cannot read: a newer version has written it (${MIGRATIONS.length + 1} migrations; this version knows ${MIGRATIONS.length}).`,
    });
    expect(refusalOf(path, { readonly: true }).code).toBe("FORMAT_UNSUPPORTED");
    inDatabase(path, (database) => database.exec("DELETE FROM __drizzle_migrations WHERE hash = 'abc'"));
    expect(openedStore(path).verify()).toMatchObject({ ok: true, messageCount: 1 });
  });

  test("refuses a store that has other migrations", () => {
    const path = storeFile();
    inDatabase(path, (database) => database.exec("UPDATE __drizzle_migrations SET hash = 'abc' WHERE id = 1"));
    expect(refusalOf(path)).toEqual({
      code: "FORMAT_UNSUPPORTED",
      message: `The store ${path} has a format that this version cannot read: another version has written it, in a format of its own.`,
    });
  });

  test("chooses the embedder again if another process has changed it meanwhile", () => {
    const path = storeFile();
    const chosen: string[] = [];
    const store = openedStore(path, {
      embedder: (id, dimension) => {
        if (chosen.length === 0) {
          const generation =
            "INSERT INTO generations (embedder_id, dimension, created_at_ms, checksum) VALUES ('other-2', 2, 1, -1)";
          inSealed(path, (database) => database.exec(generation));
        }
        chosen.push(id);
        return { id, dimension, similarityMin: 0.5, embed: () => undefined };
      },
    });
    expect(chosen).toEqual(["hashing-v1-384", "other-2"]);
    expect(store.stats().messageCount).toBe(1);
  });

  test("refuses another embedder than the one the forest was grown with", () => {
    const path = storeFile();
    const other = { id: "other-2", dimension: 2, similarityMin: 0.5, embed: () => undefined };
    expect(refusalOf(path, { embedder: other })).toEqual({
      code: "EMBEDDER_MISMATCH",
      message: `This store's forest was grown with the embedder "hashing-v1-384"; it was opened with "other-2".`,
    });
    expect(openedStore(path, { embedder: other, readonly: true }).resume("s").messages()).toHaveLength(1);
  });
});

describe("a store file", () => {
  test("is for its owner only, and so is what SQLite puts beside it", () => {
    const path = temporaryPath();
    const store = openStore(path);
    store.session("s").append({ role: "user", content: "secret" });
    for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(file).mode & 0o777).toBe(0o600);
    store.close();
  });

  test("may be made through a link", () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, "data"));
    symlinkSync(join(folder, "data", "real.db"), join(folder, "link.db"));
    openedStore(join(folder, "link.db")).session("s");
    expect(statSync(join(folder, "data", "real.db")).isFile()).toBe(true);
  });

  test("may begin as an empty file", () => {
    const path = temporaryPath();
    writeFileSync(path, "");
    expect(openedStore(path).sessions()).toEqual([]);
  });

  test.each([
    ["process", 1],
    ["power", 2],
  ] as const)("is written with durability %s as synchronous %i", (durability, synchronous) => {
    const path = temporaryPath();
    openStore(path).close(); // so that nothing is left over from making it
    const database = openDatabase(path, { readonly: false, durability, busyTimeoutMs: 1_234 });
    const pragma = (name: string): unknown => database.client.pragma(name, { simple: true });
    expect({
      synchronous: pragma("synchronous"),
      journal: pragma("journal_mode"),
      foreignKeys: pragma("foreign_keys"),
      trustedSchema: pragma("trusted_schema"),
      busyTimeout: database.waiting(() => pragma("busy_timeout")),
      lockWait: pragma("busy_timeout"),
    }).toEqual({ synchronous, journal: "wal", foreignKeys: 1, trustedSchema: 0, busyTimeout: 1_234, lockWait: 2 });
    database.client.close();
  });

  test.each([
    [{ durability: "paper" as "power" }, "durability"],
    [{ busyTimeoutMs: -1 }, "busyTimeoutMs"],
    [{ busyTimeoutMs: 1.5 }, "busyTimeoutMs"],
    [{ busyTimeoutMs: 600_001 }, "busyTimeoutMs"],
  ])("refuses the option %j and makes no file", (options, option) => {
    const path = temporaryPath();
    expect(() => openStore(path, options)).toThrow(
      expect.objectContaining({ code: "OPTION_INVALID", details: expect.objectContaining({ option }) }),
    );
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined();
  });

  test("lives in memory under the name :memory:, each by itself", () => {
    const [one, other] = [openedStore(":memory:"), openedStore(":memory:")];
    one.session("s").append({ role: "user", content: "hello" });
    expect(one.stats()).toMatchObject({ path: ":memory:", messageCount: 1, fileBytes: 0, walBytes: 0 });
    expect(one.verify().ok).toBe(true);
    expect(other.sessions()).toEqual([]);
  });

  test("can be closed twice", () => {
    const store = temporaryStore();
    store.close();
    expect(() => store.close()).not.toThrow();
  });

  slow(test)("can be made by three processes at once", async () => {
    const path = temporaryPath();
    const opener = new URL("../../support/opening-child.ts", import.meta.url);
    await race(
      opener,
      ["a", "b", "c"].map((session) => [path, session]),
    );
    const store = openedStore(path);
    expect(
      store
        .sessions()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(["a", "b", "c"]);
    expect(store.verify()).toMatchObject({ ok: true, messageCount: 3 });
    expect(store.query("SELECT count(*) AS n FROM generations")).toEqual([{ n: 1 }]);
  });
});
