import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { CliFolder, longSession } from "../support/cli.ts";
import { inDatabase } from "../support/rows.ts";

const folder = new CliFolder({ isHere: true });

beforeAll(async () => {
  await folder.json("import", folder.jsonl("both.jsonl", [...longSession("lamp", 120), ...longSession("lens", 3)]));
});

describe("backup", () => {
  test("writes a store that other commands read, and reports its content", async () => {
    const path = join(folder.path, "copy.db");
    const { exitCode, stdout, stderr } = await folder.run(["backup", path]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^2 sessions and 123 messages copied and checked: .*\/copy\.db \(\d+\.\d [kM]B\)\.\n$/);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(await folder.json("verify", "--db", path)).toMatchObject({ ok: true, messageCount: 123 });
    expect(await folder.json("forest", "lamp", "--db", path)).toEqual(await folder.json("forest", "lamp"));
  });

  test("replaces an existing file only with --overwrite", async () => {
    const path = join(folder.path, "precious.txt");
    writeFileSync(path, "precious");
    await folder.refusal(1, "backup", path);
    expect(readFileSync(path, "utf8")).toBe("precious");
    expect(await folder.json("backup", path, "--overwrite")).toMatchObject({ path, messageCount: 123 });
  });
});

describe("restore", () => {
  const other = new CliFolder({ isHere: true });

  test("puts a backup in the place of a store, keeps that, and says so", async () => {
    const backup = join(folder.path, "to-restore.db");
    await folder.json("backup", backup);
    await other.json("import", other.jsonl("new.jsonl", longSession("newer", 5)));
    const { exitCode, stdout, stderr } = await other.run(["restore", backup]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const [said, kept] = stdout.split("\n");
    expect(said).toBe(`2 sessions and 123 messages of ${backup} checked and restored: ${other.db}.`);
    const [, keptAt] = /^The former store is kept: (.*\.replaced-[-\dT]+)\. Delete it/.exec(kept!)!;
    expect(await other.json("verify")).toMatchObject({ ok: true, messageCount: 123 });
    expect(await other.json("verify", "--db", keptAt!)).toMatchObject({ ok: true, messageCount: 5 });
    expect(await folder.json("verify", "--db", backup)).toMatchObject({ ok: true, messageCount: 123 });
  });

  test("needs no former store", async () => {
    const db = join(other.path, "fresh.db");
    expect(await other.json("restore", folder.db, "--db", db)).toMatchObject({ path: db, keptAt: null });
    expect(await other.json("verify", "--db", db)).toMatchObject({ messageCount: 123 });
  });

  test("refuses the store itself, what is no store, a damaged backup, and a store that is open, and changes nothing", async () => {
    expect(await other.refusal(1, "restore", other.db)).toContain("it is the backup itself");
    expect(await other.refusal(1, "restore", join(other.path, "none.db"))).toContain("There is no file");
    const damaged = join(other.path, "damaged.db");
    await folder.json("backup", damaged);
    inDatabase(damaged, (database) => database.exec("UPDATE messages SET name = 'x' WHERE seq = 1"));
    const before = readFileSync(other.db);
    expect(await other.refusal(1, "restore", damaged)).toMatch(/`verify` finds \d+ problems in this backup, such as/);
    expect(readFileSync(other.db).equals(before)).toBe(true);
    if (process.platform === "linux") {
      const opened = `const d = new (require("better-sqlite3"))(${JSON.stringify(other.db)}); d.pragma("journal_mode = WAL"); d.pragma("user_version"); console.log("open"); setInterval(() => {}, 1e6)`;
      const holder = spawn(process.execPath, ["-e", opened], { stdio: ["ignore", "pipe", "inherit"] });
      await once(holder.stdout, "data");
      expect(await other.refusal(1, "restore", folder.db)).toContain(`process ${holder.pid} (node) has it open`);
      holder.kill("SIGKILL");
      await once(holder, "exit");
    }
  });
});

describe("export", () => {
  test("prints lines from which an import restores the same sessions", async () => {
    const { exitCode, stdout, stderr } = await folder.run(["export"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n")).toHaveLength(2 + 123 + 1);
    const db = join(folder.path, "again.db");
    writeFileSync(join(folder.path, "export.jsonl"), stdout);
    const report = await folder.json("import", join(folder.path, "export.jsonl"), "--db", db);
    expect(report).toMatchObject({ newCount: 123, warningCount: 0, files: [{ format: "jsonl" }] });
  });

  test("accepts the beginnings of ids, and prints each session once", async () => {
    const lines = await folder.json("export", "len", "lens");
    expect(lines.map(({ session, seq }: Record<string, unknown>) => [session, seq])).toEqual([
      ["lens", undefined],
      ["lens", 0],
      ["lens", 1],
      ["lens", 2],
    ]);
  });

  test("refuses an unknown session before it prints anything", async () => {
    expect(await folder.refusal(1, "export", "lens", "nobody")).toContain('No session with id "nobody".');
  });

  test("prints what can be read of a damaged store, names the other messages, and fails", async () => {
    const db = join(folder.path, "damaged.db");
    await folder.json("backup", db);
    inDatabase(db, (database) =>
      database.exec("UPDATE messages SET parts = '[{' WHERE session_id = 'lens' AND seq = 1"),
    );
    const { exitCode, stdout, stderr } = await folder.run(["export", "lens", "--db", db]);
    expect(exitCode).toBe(1);
    expect(stdout.trimEnd().split("\n")).toHaveLength(3);
    expect(stderr).toMatch(
      /^lens #1: row \d+ of messages is damaged\ncoppice: 1 message could not be read: lens #1\.\n/,
    );
    const asJson = await folder.run(["export", "lens", "--db", db, "--json"]);
    expect([asJson.exitCode, JSON.parse(asJson.stdout).length]).toEqual([1, 3]);
    expect(JSON.parse(asJson.stderr).error.code).toBe("EXPORT_INCOMPLETE");
  });

  test("names a damaged session, and so does the list of the others, and both fail", async () => {
    const db = join(folder.path, "damaged-session.db");
    await folder.json("backup", db);
    inDatabase(db, (database) => database.exec("UPDATE sessions SET title = 'another' WHERE id = 'lens'"));
    const named =
      /^lens: row lens of sessions is damaged\ncoppice: 1 session could not be read: lens\.\nEverything else/;
    const { exitCode, stderr } = await folder.run(["export", "--db", db]);
    expect([exitCode, stderr]).toEqual([1, expect.stringMatching(named)]);

    const listed = await folder.run(["sessions", "--db", db, "--json"]);
    expect(listed.exitCode).toBe(1);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: "lamp" }]);
    expect(JSON.parse(listed.stderr).error).toMatchObject({
      code: "STORE_CORRUPT",
      message: "1 session could not be read: lens.",
    });
  });
});

describe("doctor", () => {
  test("finds that all is well", async () => {
    const { exitCode, stdout, stderr } = await folder.run(["doctor"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const [facts, findings] = stdout.trimEnd().split("\n\n");
    expect(facts).toMatch(/^Sessions {4}\d/);
    for (const line of findings!.split("\n")) expect(line).toMatch(/^✓ .*\.$/);
    expect(await folder.json("doctor")).toMatchObject({ ok: true, findings: expect.any(Array) });
  });

  test("reports what is wrong and how to fix it, and fails", async () => {
    chmodSync(folder.db, 0o604);
    const { exitCode, stdout, stderr } = await folder.run(["doctor"]);
    const asJson = await folder.run(["doctor", "--json"]);
    chmodSync(folder.db, 0o600);
    expect(exitCode).toBe(1);
    expect(stdout).toContain(`✗ ${folder.db} may be used by others than its owner (mode 604)`);
    expect(stdout).toMatch(/\n {2}→ chmod 600 .*agent\.db'?\n/);
    expect(stderr).toMatch(/^coppice: \d problems? found\.\n/);
    expect([asJson.exitCode, JSON.parse(asJson.stdout).ok]).toEqual([1, false]);
    expect(JSON.parse(asJson.stderr).error.code).toBe("DOCTOR_FAILED");
  });

  test("says why a store cannot be opened", async () => {
    const db = join(folder.path, "diary.db");
    writeFileSync(db, "Dear diary, this is no database. ".repeat(50));
    const { exitCode, stdout } = await folder.run(["doctor", "--db", db]);
    expect([exitCode, stdout]).toEqual([
      1,
      `✗ ${db} is not a Coppice store: file is not a database.\n  → Give the path of a store, or of a file that does not exist yet.\n`,
    ]);
    const none = join(folder.path, "none.db");
    expect((await folder.run(["doctor", "--db", none])).exitCode).toBe(1);
    expect(existsSync(none)).toBe(false);
  });
});
