import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, test, vi } from "vitest";
import { CliFolder, FIXTURES, longSession } from "../support/cli.ts";

const folder = new CliFolder();

describe("import", () => {
  test("reports damaged lines by file and number, and imports the others", async () => {
    const file = folder.jsonl("damaged.jsonl", [
      { session: "damaged", role: "user", content: "before" },
      '{"session":"damaged","role":"user","content":"cut sho',
      { session: "damaged", role: "wizard", content: "abracadabra" },
      { session: "damaged", role: "user", content: "after" },
    ]);
    const { exitCode, stdout, stderr } = await folder.run(["import", file, "--db", join(folder.path, "damaged.db")]);
    expect(exitCode).toBe(0);
    const warnings = stderr.trimEnd().split("\n");
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toContain(`${file}:2: not JSON: `);
    expect(warnings[1]).toContain(`${file}:3: role: `);
    expect(stdout).toContain("1 file, 1 session, 2 new messages and 0 already there, 2 warnings.");
  });

  test("fails with --strict if there are warnings, after importing the good lines", async () => {
    const db = join(folder.path, "strict.db");
    const file = folder.jsonl("strict.jsonl", [{ session: "strict", role: "user", content: "good" }, "bad"]);
    const { exitCode, stdout, stderr } = await folder.run(["import", file, "--strict", "--json", "--db", db]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ newCount: 1, warningCount: 1 });
    expect(JSON.parse(stderr).error).toMatchObject({ code: "IMPORT_INCOMPLETE", message: "There were warnings: 1." });
    // The store knows the file by now, and keeps no warnings of it.
    await wait(100);
    await folder.json("import", file, "--db", db);
    expect((await folder.json("import", file, "--db", db)).files).toMatchObject([{ isUnchanged: true, warnings: [] }]);
    expect((await folder.run(["import", file, "--strict", "--db", db])).exitCode).toBe(1);
  });

  test("fails for a missing path, after importing the other paths", async () => {
    const db = join(folder.path, "partly.db");
    const file = folder.jsonl("there.jsonl", [{ session: "there", role: "user", content: "hello" }]);
    const { exitCode, stdout, stderr } = await folder.run(["import", "/nowhere.jsonl", file, "--db", db]);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("1 new message and 0 already there");
    expect(stderr).toBe("coppice: There is no file /nowhere.jsonl.\nThe other files were imported.\n");
  });

  test("names a file in no known format in a folder, and fails if it is named", async () => {
    const [inside, db] = [join(folder.path, "mixed"), join(folder.path, "mixed.db")];
    mkdirSync(inside);
    const file = folder.jsonl("mixed/other.jsonl", [{ some: "thing" }]);
    const { exitCode, stderr } = await folder.run(["import", inside, "--db", db]);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("other.jsonl: Cannot import ")]);
    await folder.refusal(1, "import", file, "--db", db);
  });

  test("assigns sessions to the given project permanently", async () => {
    const db = join(folder.path, "project.db");
    const file = folder.jsonl("project.jsonl", [{ session: "p", role: "user", content: "hello", project: "own" }]);
    await folder.json("import", file, "--project", "given", "--db", db);
    expect(await folder.json("sessions", "--project", "given", "--db", db)).toMatchObject([{ id: "p" }]);
    const moved = await folder.json("import", file, "--project", "another", "--db", db);
    expect(moved.files[0].warnings).toEqual([
      { line: null, reason: 'Session "p" has project "given", not "another".' },
    ]);
  });

  test("shows with --dry-run what an import would do, and does nothing", async () => {
    const db = join(folder.path, "dry.db");
    const lines = longSession("dry", 4);
    const file = folder.jsonl("dry.jsonl", lines);
    expect(await folder.json("import", file, "--dry-run", "--db", db)).toMatchObject({ newCount: 4, isDryRun: true });
    expect(existsSync(db)).toBe(false);
    await folder.json("import", folder.jsonl("dry.jsonl", lines.slice(0, 3)), "--db", db);
    const before = readFileSync(db);
    folder.jsonl("dry.jsonl", lines.with(1, { ...lines[1]!, content: "never said" }));
    const { exitCode, stdout } = await folder.run(["import", join(folder.path, "dr?.jsonl"), "--dry-run", "--db", db]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("1 new message and 2 already there, 1 warning. Nothing was imported: this was a dry run.");
    expect(readFileSync(db).equals(before)).toBe(true);
  });

  test("reads standard input", async () => {
    const db = join(folder.path, "stdin.db");
    const stdin = '{"session":"piped","role":"user","content":"hello"}\n';
    const { exitCode } = await folder.run(["import", "-", "--db", db], { stdin });
    expect(exitCode).toBe(0);
    expect(await folder.json("sessions", "--db", db)).toMatchObject([{ id: "piped", messageCount: 1 }]);
  });

  test("reads another text from standard input, too", async () => {
    const db = join(folder.path, "stdin-again.db");
    for (const name of ["first", "second"]) {
      const lines = longSession(name, 60).map((line) => ({ ...line, content: `${name} ${line.content.repeat(10)}` }));
      const stdin = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
      expect(await folder.run(["import", "-", "--db", db], { stdin })).toMatchObject({ exitCode: 0 });
    }
    expect(await folder.json("sessions", "--db", db)).toMatchObject([{ messageCount: 60 }, { messageCount: 60 }]);
  });

  test("ends at Ctrl-C with what was read, and continues from there the next time", async () => {
    const db = join(folder.path, "interrupted.db");
    // More bytes than the detection of the format reads.
    const lines = longSession("interrupted", 1_000).map((line) => ({ ...line, content: line.content.repeat(5) }));
    const { child, stderr, ended } = folder.start(["import", "-", "--db", db]);
    const written = lines.slice(0, 900).map((line) => `${JSON.stringify(line)}\n`);
    child.stdin.write(written.join("")); // and says no more
    const readCount = (): number => {
      const store = new Database(db, { readonly: true });
      const count = store.prepare<[], number>("SELECT count(*) FROM messages").pluck().get()!;
      store.close();
      return count;
    };
    await vi.waitFor(() => expect(readCount()).toBeGreaterThanOrEqual(100), { timeout: 20_000, interval: 100 });
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(stderr()).toBe(
      "coppice: Interrupted.\nWhat was read so far is in the store. Run the command again to continue.\n",
    );
    const before = readCount();
    const file = folder.jsonl("interrupted.jsonl", lines);
    const report = await folder.json("import", file, "--db", db);
    expect(report).toMatchObject({ newCount: 1_000 - before, knownCount: before });
    expect(await folder.json("verify", "--db", db)).toMatchObject({ ok: true, messageCount: 1_000 });
  });

  test("explains why a data folder cannot be created", async () => {
    const env = { COPPICE_DB: "", XDG_DATA_HOME: folder.jsonl("a-file", [{}]) };
    const { exitCode, stderr } = await folder.run(["import", join(FIXTURES, "neutral.jsonl")], { env });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^coppice: Cannot use .*a-file\/coppice: the folder cannot be made: ENOTDIR/);
  });
});
