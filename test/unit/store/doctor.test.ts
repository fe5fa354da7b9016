import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, copyFileSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { StoreError } from "../../../src/core/errors.ts";
import { type Finding, openStore } from "../../../src/index.ts";
import { examineUnopened } from "../../../src/session/doctor.ts";
import { internalsOf } from "../../../src/session/opened-store.ts";
import { networkFinding, roomFinding } from "../../../src/store/file/file-findings.ts";
import { holdersIn } from "../../../src/store/file/lock-holders.ts";
import { inDatabase } from "../../support/rows.ts";
import { talk } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryFolder, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const onLinux = process.platform === "linux";

function findingsAbout(check: Finding["check"], findings: readonly Finding[]): Finding[] {
  return findings.filter((finding) => finding.check === check);
}

/** The one finding about it. */
function findingAbout(check: Finding["check"], findings: readonly Finding[]): Finding {
  const found = findingsAbout(check, findings);
  expect(found).toHaveLength(1);
  return found[0]!;
}

/** Why the store cannot be opened, as the command line would be told. */
function refusalOf(path: string): StoreError {
  try {
    openStore(path, { readonly: true }).close();
  } catch (error) {
    if (error instanceof StoreError) return error;
    throw error;
  }
  throw new Error(`${path} was opened`);
}

describe("a store that is well", () => {
  test("gets a finding for every check, and nothing to mend", () => {
    const store = temporaryStore();
    store.session("s").append({ role: "user", content: "hello" });
    const findings = store.doctor();
    expect(findings.map(({ check }) => check)).toEqual([
      "file",
      "permissions",
      "disk",
      "write-ahead-log",
      "processes",
      "versions",
      "integrity",
      "embedder",
      "vectors",
      "summaries",
      "full-text",
      "index",
    ]);
    expect(findings.filter(({ level, fix }) => level !== "ok" || fix !== null)).toEqual([]);
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(findingAbout("versions", findings).text).toMatch(
      new RegExp(`^Coppice ${version}, file format \\d+, SQLite 3\\.\\d+\\.\\d+, Node ${process.versions.node}\\.$`),
    );
    expect(findingAbout("embedder", findings).text).toBe("The forest is grown with hashing-v1-384.");
  });

  test.each([
    ["3.54.99", "ok"],
    ["3.55.0", "advice"],
    ["4.0.0", "advice"],
  ])("has a SQLite that is named if it is newer than those of the tests: %s", (version, level) => {
    const store = temporaryStore();
    internalsOf(store).repositories.database.client.function("sqlite_version", () => version);
    const finding = findingAbout("versions", store.doctor());
    expect(finding).toMatchObject({ level, text: expect.stringContaining(`SQLite ${version}`) });
    expect(finding.text.includes("was tested with SQLite up to 3.54.")).toBe(level === "advice");
  });

  test("is not changed by being looked at", () => {
    const { path } = temporaryStore();
    inDatabase(path, (database) => database.pragma("wal_checkpoint(TRUNCATE)"));
    const before = readFileSync(path);
    const reader = openedStore(path, { readonly: true });
    expect(reader.doctor().filter(({ level }) => level === "problem")).toEqual([]);
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("may live in memory", () => {
    const findings = openedStore(":memory:").doctor();
    expect(findings[0]).toMatchObject({ check: "file", level: "ok" });
    expect(findings.map(({ level }) => level)).toEqual(["ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"]);
  });

  test("that is closed says so", () => {
    const store = temporaryStore();
    store.close();
    expect(() => store.doctor()).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }));
  });
});

describe("the full-text index", () => {
  test("may be behind, as long as a search can look through what it lacks", async () => {
    const store = temporaryStore();
    const session = store.session("s");
    session.append({ role: "user", content: "hello" });
    expect(findingAbout("full-text", store.doctor())).toEqual({
      check: "full-text",
      level: "ok",
      text: "1 message is not in the full-text index yet; a search reads such messages one by one.",
      fix: null,
    });
    for (let batch = 0; batch < 40; batch++) session.append(talk(50));
    expect(findingAbout("full-text", store.doctor())).toEqual({
      check: "full-text",
      level: "advice",
      text: "2,001 messages are not in the full-text index yet; a search reads such messages one by one.",
      fix: "`await session.resolveDirty()` in any session, or `coppice verify --rebuild`.",
    });
    await session.resolveDirty();
    expect(findingAbout("full-text", store.doctor()).text).toBe("Every message is in the full-text index.");
  });

  test("that is damaged is a problem of its own, which a rebuild mends", () => {
    const store = temporaryStore();
    store.session("s").append(talk(10));
    store.verify({ rebuild: true });
    inDatabase(store.path, (database) => {
      database.unsafeMode(true);
      database.exec("DELETE FROM messages_fts_data WHERE id > 10");
    });
    const findings = store.doctor();
    expect(findingAbout("integrity", findings).level).toBe("ok");
    expect(findingAbout("full-text", findings)).toMatchObject({
      level: "problem",
      text: expect.stringMatching(/^The full-text index is damaged: /),
      fix: "`coppice verify --rebuild` makes it again.",
    });
  });
});

describe("permissions", () => {
  test("that let others in are a problem, of the file and of what stands beside it", () => {
    const store = temporaryStore();
    store.session("s");
    chmodSync(store.path, 0o644);
    chmodSync(`${store.path}-wal`, 0o660);
    expect(findingsAbout("permissions", store.doctor())).toEqual([
      {
        check: "permissions",
        level: "problem",
        text: `${store.path} may be used by others than its owner (mode 644), and it holds conversations.`,
        fix: `chmod 600 '${store.path}'`,
      },
      {
        check: "permissions",
        level: "problem",
        text: `${store.path}-wal may be used by others than its owner (mode 660), and it holds conversations.`,
        fix: `chmod 600 '${store.path}-wal'`,
      },
    ]);
  });

  test("name the file as a shell takes it", () => {
    const path = join(temporaryFolder(), "it's mine.db");
    const store = openedStore(path);
    chmodSync(path, 0o640);
    expect(findingAbout("permissions", store.doctor()).fix).toBe(`chmod 600 '${dirname(path)}/it'\\''s mine.db'`);
  });

  test("of a folder in which anybody may put another file in its place are a problem, unless it is sticky as /tmp is", () => {
    const store = temporaryStore();
    const folder = dirname(store.path);
    chmodSync(folder, 0o777);
    expect(findingAbout("permissions", store.doctor())).toMatchObject({
      level: "problem",
      fix: `chmod o-w '${folder}'`,
    });
    chmodSync(folder, 0o1777);
    expect(findingAbout("permissions", store.doctor()).level).toBe("ok");
  });
});

describe("the disk", () => {
  test.each([
    [99_999_999, 1_000, "problem", "The disk has 100 MB left. The next writes may fail."],
    [100_000_000, 1_000, "ok", "The disk has 100 MB left."],
    [500_000_000, 500_000_001, "advice", "The disk has 500 MB left. A backup of 500 MB does not fit beside the store."],
    [500_000_000, 500_000_000, "ok", "The disk has 500 MB left."],
    [20_000_000_000, 1_000, "ok", "The disk has 20 GB left."],
  ])("with %i bytes left, for a store of %i: %s", (freeBytes, storeBytes, level, text) => {
    expect(roomFinding(freeBytes, storeBytes)).toMatchObject({ check: "disk", level, text });
  });

  test("of another machine is a problem", () => {
    expect(networkFinding(0x6969)).toMatchObject({
      check: "file-system",
      level: "problem",
      text: expect.stringContaining("(NFS)"),
    });
    expect(networkFinding(0xef53)).toBeUndefined(); // ext4
  });
});

describe("the write-ahead log", () => {
  test("that has grown is worth a word", () => {
    const store = temporaryStore();
    inDatabase(store.path, (database) => database.pragma("wal_checkpoint(TRUNCATE)"));
    writeFileSync(`${store.path}-wal`, Buffer.alloc(64_000_001)); // past what was committed: SQLite does not look at it
    expect(findingAbout("write-ahead-log", store.doctor())).toMatchObject({
      level: "advice",
      text: expect.stringContaining("has grown to 64 MB"),
      fix: expect.stringContaining("wal_checkpoint(TRUNCATE)"),
    });
  });

  test.runIf(onLinux)("that a dead process has left is told from one in use", async () => {
    const path = temporaryPath();
    const store = openStore(path);
    store.session("s").append({ role: "user", content: "before the end" });
    const [left, leftLog] = [join(temporaryFolder(), "left.db"), readFileSync(`${path}-wal`)];
    copyFileSync(path, left);
    chmodSync(left, 0o600);
    writeFileSync(`${left}-wal`, leftLog, { mode: 0o600 }); // as the process would leave it if it died now
    expect(findingAbout("write-ahead-log", store.doctor()).level).toBe("ok");
    store.close();
    const reader = openedStore(left, { readonly: true });
    expect(reader.resume("s").messages()).toHaveLength(1);
    expect(findingAbout("write-ahead-log", reader.doctor())).toMatchObject({
      level: "advice",
      text: expect.stringMatching(
        /^A process ended without closing the store and left .* MB in .*left\.db-wal\. Nothing is lost\.$/,
      ),
    });
    expect(statSync(`${left}-wal`).size).toBe(leftLog.length);
  });

  test("without its database is a problem", () => {
    const path = temporaryPath();
    writeFileSync(`${path}-wal`, Buffer.alloc(1_500_000));
    const findings = examineUnopened(refusalOf(path));
    expect(findings.map(({ check, level }) => [check, level])).toEqual([
      ["open", "problem"],
      ["file", "problem"],
    ]);
    expect(findings[1]!.text).toBe(`There is no file ${path}, but its write-ahead log ${path}-wal holds 1.5 MB.`);
  });
});

describe.runIf(onLinux)("other processes", () => {
  /** A process that has opened the file and run the statements. It ends with the test. */
  async function processWith(path: string, statements: string) {
    const script = `import D from "better-sqlite3"; const d = new D(${JSON.stringify(path)}); d.exec(${JSON.stringify(statements)}); console.log("ready"); setInterval(() => d.open, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout!, "data");
    return child;
  }

  test("that have it open are named, and are no problem", async () => {
    const store = temporaryStore();
    expect(findingAbout("processes", store.doctor()).text).toBe("No other process has it open.");
    const child = await processWith(store.path, "SELECT count(*) FROM messages");
    expect(findingAbout("processes", store.doctor())).toMatchObject({
      level: "ok",
      text: expect.stringMatching(`^Also open in process ${child.pid}(?: \\(node[^)]*\\))?\\.$`),
    });
    child.kill();
    await once(child, "exit");
    expect(findingAbout("processes", store.doctor()).text).toBe("No other process has it open.");
  });

  test("that write for more than a second are a problem, and are waited for no longer", async () => {
    const store = temporaryStore();
    const child = await processWith(store.path, "BEGIN IMMEDIATE");
    const startedAt = performance.now();
    expect(findingAbout("processes", store.doctor())).toEqual({
      check: "processes",
      level: "problem",
      text: `Process ${child.pid} has been writing for more than a second; other writers get STORE_BUSY.`,
      fix: `Wait for it, wake it if it is stopped, or end it: kill ${child.pid}`,
    });
    expect(performance.now() - startedAt).toBeGreaterThan(900);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    child.kill();
    await once(child, "exit");
  });
});

describe("the list of locks", () => {
  const inodes = { database: 130, sharedMemory: 162 };

  test("names who has the file open, and who writes", () => {
    const locks = [
      "1: POSIX  ADVISORY  READ 42 fe:00:162 128 128",
      "2: POSIX  ADVISORY  READ 42 fe:00:130 1073741826 1073742335",
      "3: POSIX  ADVISORY  WRITE 7 00:2a:162 120 120",
      "4: POSIX  ADVISORY  READ 7 00:2a:130 1073741826 1073742335",
      "5: FLOCK  ADVISORY  WRITE 99 fe:00:130 0 EOF",
    ];
    expect(holdersIn(locks.join("\n"), inodes, 1)).toEqual({ open: [7, 42], elsewhere: [7], writing: 7 });
    expect(holdersIn(locks.join("\n"), inodes, 7)).toEqual({ open: [42], elsewhere: [], writing: undefined });
  });

  test.each([
    ["another file", "1: POSIX  ADVISORY  WRITE 42 fe:00:131 1073741824 1073742335"],
    ["other bytes of it", "1: POSIX  ADVISORY  WRITE 42 fe:00:130 0 1000"],
    ["a wait for a lock", "1: -> POSIX  ADVISORY  WRITE 42 fe:00:130 1073741824 1073742335"],
  ])("passes over %s", (_, line) => {
    expect(holdersIn(line, inodes, 1)).toEqual({ open: [], elsewhere: [], writing: undefined });
  });

  test("knows a writer without a write-ahead log by its lock on the file", () => {
    const line = "1: POSIX  ADVISORY  WRITE 42 fe:00:130 1073741824 EOF";
    expect(holdersIn(line, inodes, 1)).toEqual({ open: [42], elsewhere: [42], writing: 42 });
  });
});

describe("rows", () => {
  test("of a damaged file are a problem, and the file is looked at all the same", () => {
    const path = filledFile();
    const reader = openedStore(path, { readonly: true });
    damage(path);
    const findings = reader.doctor();
    expect(findingAbout("integrity", findings)).toMatchObject({ level: "problem", fix: expect.any(String) });
    expect(findingAbout("disk", findings).level).toBe("ok");
  });

  test("of a large file are read only if somebody asks for it", () => {
    const path = filledFile();
    const reader = openedStore(path, { readonly: true });
    inDatabase(path, (database) => {
      database.exec("CREATE TABLE large AS SELECT zeroblob(17000000) AS bytes; DROP TABLE large");
      database.exec("UPDATE messages SET checksum = checksum + 1 WHERE id = 1");
    });
    expect(findingAbout("integrity", reader.doctor())).toEqual({
      check: "integrity",
      level: "ok",
      text: expect.stringMatching(
        /^The file has \d+ MB, so not every page was read\. `coppice doctor --deep` reads them all\.$/,
      ),
      fix: null,
    });
    expect(findingAbout("integrity", reader.doctor({ deep: true })).level).toBe("problem");
  });

  test("that are whole do not hide a broken chain of pages", () => {
    const path = temporaryPath();
    const store = openStore(path);
    store.session("s").append({ role: "user", content: "x".repeat(20_000) });
    store.close();
    inDatabase(path, (database) => database.exec("UPDATE artifacts SET content = zeroblob(400000)"));
    // Of a page of the blob, the first four bytes name the next one; all others are zero.
    const bytes = readFileSync(path);
    let start = 0;
    while (bytes.readUInt32BE(start) === 0 || bytes.subarray(start + 4, start + 4_096).some((byte) => byte !== 0))
      start += 4_096;
    bytes.fill(0xff, start, start + 4);
    writeFileSync(path, bytes);
    const findings = openedStore(path, { readonly: true }).doctor();
    expect(findingAbout("integrity", findings)).toMatchObject({
      level: "problem",
      text: expect.stringMatching(/^The file is damaged: .+\.$/),
    });
    expect(findingAbout("summaries", findings).level).toBe("ok");
  });

  test("grown with another embedder are a problem for who wants to append", () => {
    const { path } = temporaryStore();
    const other = { id: "other-2", dimension: 2, similarityMin: 0.5, embed: () => undefined };
    expect(findingAbout("embedder", openedStore(path, { readonly: true, embedder: other }).doctor())).toEqual({
      check: "embedder",
      level: "problem",
      text: "The forest is grown with hashing-v1-384, and the store was opened with other-2: it can be read only.",
      fix: "Open it with the embedder hashing-v1-384 to append.",
    });
  });

  test("without a summary are worth a word until they have one", async () => {
    const store = temporaryStore({ summarizer: scriptedSummarizer("good") });
    const session = store.session("s", { hotSize: 4, resolveTokensMin: 1 });
    session.append(talk(60));
    session.compact();
    store.session("short").append(talk(3));
    const finding = findingAbout("summaries", store.doctor());
    expect(finding.level).toBe("advice");
    expect(finding.text).toMatch(
      /^\d+ clusters in 1 session need a summary; 1 of these sessions has none at all\. 56 messages \([\d,]+ tokens\) are in no summary\.$/,
    );
    await session.resolveDirty();
    expect(findingAbout("summaries", store.doctor()).level).toBe("ok");
  });

  test("want none in a session whose contexts do not show them", () => {
    const store = temporaryStore();
    const session = store.session("s", { hotSize: 4, resolveTokensMin: 1, strategy: "flat" });
    session.append(talk(60));
    session.compact({ strategy: "union-find" });
    expect(findingAbout("summaries", store.doctor()).level).toBe("ok");
  });

  test("whose summary failed give the reason", async () => {
    const fail = () => Promise.reject(new Error("the model is out"));
    const store = temporaryStore({ summarizer: { id: "failing", promptVersion: 1, summarize: fail } as never });
    const session = store.session("s", { hotSize: 4, resolveTokensMin: 1 });
    session.append(talk(60));
    session.compact();
    await session.resolveDirty();
    expect(findingAbout("summaries", store.doctor()).text).toContain("The last try failed: the model is out");
  });
});

describe("a store that cannot be opened", () => {
  test("is examined from outside", () => {
    const path = filledFile();
    chmodSync(path, 0o644);
    writeFileSync(path, readFileSync(path).subarray(0, 6_000));
    const findings = examineUnopened(refusalOf(path));
    expect(findings[0]).toMatchObject({ check: "open", level: "problem", text: expect.stringContaining("is damaged") });
    expect(findingsAbout("permissions", findings)[0]).toMatchObject({ level: "problem", fix: `chmod 600 '${path}'` });
    expect(findingAbout("disk", findings).level).toBe("ok");
  });

  test.each([
    ["another program's file", (path: string) => writeFileSync(path, "Dear diary. ".repeat(100))],
    ["no file at all", () => {}],
  ])("because it is %s is told so, and nothing else", (_, make) => {
    const path = temporaryPath();
    make(path);
    const refusal = refusalOf(path);
    expect(examineUnopened(refusal)).toEqual([
      { check: "open", level: "problem", text: refusal.message, fix: refusal.hint },
    ]);
  });
});

/** A closed store file of many pages. */
function filledFile(): string {
  const path = temporaryPath();
  const store = openStore(path);
  store.session("s").append(talk(200));
  store.close();
  return path;
}

/** Overwrite pages in the middle of the file. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(0xff, 4_096 * Math.floor(bytes.length / 8_192), bytes.length - 4_096);
  writeFileSync(path, bytes);
}
