import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, test, vi } from "vitest";
import { samplesByFormat } from "../contract/importer-samples.ts";
import { CliFolder, FIXTURES, longSession } from "../support/cli.ts";
import { slow } from "../support/effort.ts";

const folder = new CliFolder();

describe("import", () => {
  test("imports a folder of two formats, with subagents as children of their session", async () => {
    const session = "3f6c1d2e-0a4b-4c1d-9e8f-5a6b7c8d9e0f";
    const home = join(folder.path, "home");
    const subagents = join(home, session, "subagents");
    mkdirSync(subagents, { recursive: true });
    copyFileSync(join(FIXTURES, "neutral.jsonl"), join(home, "neutral.jsonl"));
    copyFileSync(join(FIXTURES, "claude-code", `${session}.jsonl`), join(home, `${session}.jsonl`));
    const line = { type: "user", sessionId: session, isSidechain: true, agentId: "d7", uuid: "u1", parentUuid: null };
    const message = { role: "user", content: "Which gauge drifts?" };
    writeFileSync(join(subagents, "agent-d7.jsonl"), `${JSON.stringify({ ...line, message })}\n`);

    // The subagent was the last to write, and its file is still read after that of its session.
    for (const [day, name] of [
      "neutral.jsonl",
      `${session}.jsonl`,
      join(session, "subagents", "agent-d7.jsonl"),
    ].entries())
      utimesSync(join(home, name), day, day);

    const db = join(folder.path, "both.db");
    const report = await folder.json("import", home, "--db", db);
    expect(report).toMatchObject({ sessionCount: 6, newCount: 33, knownCount: 0, warningCount: 0 });
    expect(report.files).toMatchObject([
      { format: "claude-code", newCount: 24 },
      { format: "claude-code", newCount: 1 },
      { format: "jsonl", newCount: 8 },
    ]);
    const children = `SELECT id FROM sessions WHERE parent_session_id = '${session}' ORDER BY id`;
    expect(await folder.json("sql", children, "--db", db)).toEqual([
      { id: `${session}/agent-00000017-1111-4111-8111-000000000017` },
      { id: `${session}/agent-a77` },
      { id: `${session}/agent-d7` },
    ]);
  });

  test("adds only the growth of a file, and writes nothing where there is none", async () => {
    const db = join(folder.path, "grown.db");
    const lines = longSession("grown", 250);
    const summaries = { resolved: 0, failed: 0, deferred: 0 }; // without a model there are none
    const first = await folder.json("import", folder.jsonl("grown.jsonl", lines.slice(0, 240)), "--db", db);
    expect(first).toMatchObject({ newCount: 240, knownCount: 0, summaries });
    const file = folder.jsonl("grown.jsonl", lines);
    expect(await folder.json("import", file, "--db", db)).toMatchObject({ newCount: 10, knownCount: 240 });
    const before = digest(db);
    expect(await folder.json("import", file, "--db", db)).toMatchObject({ newCount: 0, knownCount: 250, summaries });
    expect(digest(db)).toBe(before);
    const { messages } = await folder.json("show", "grown", "--limit", "250", "--db", db);
    expect(messages).toMatchObject(lines.map(({ id }, seq) => ({ seq, externalId: id })));
  });

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
  });

  test("fails for a missing path, after importing the other paths", async () => {
    const db = join(folder.path, "partly.db");
    const file = folder.jsonl("there.jsonl", [{ session: "there", role: "user", content: "hello" }]);
    const { exitCode, stdout, stderr } = await folder.run(["import", "/nowhere.jsonl", file, "--db", db]);
    expect(exitCode).toBe(1);
    expect(stdout).toContain("1 new message and 0 already there");
    expect(stderr).toBe("coppice: There is no file /nowhere.jsonl.\nThe other files were imported.\n");
  });

  test("skips a file in no known format in a folder, and refuses it if it is named", async () => {
    const inside = join(folder.path, "mixed");
    mkdirSync(inside);
    writeFileSync(join(inside, "other.jsonl"), '{"some":"thing"}\n');
    copyFileSync(join(FIXTURES, "neutral.jsonl"), join(inside, "neutral.jsonl"));
    const db = join(folder.path, "mixed.db");
    const found = await folder.run(["import", inside, "--db", db]);
    expect(found.exitCode).toBe(0);
    expect(found.stderr).toContain("other.jsonl: Cannot import ");
    const named = await folder.run(["import", join(inside, "other.jsonl"), "--db", db]);
    expect(named.exitCode).toBe(1);
  });

  test("assigns sessions to the given project permanently", async () => {
    const db = join(folder.path, "project.db");
    const file = folder.jsonl("project.jsonl", [{ session: "p", role: "user", content: "hello", project: "own" }]);
    await folder.json("import", file, "--project", "given", "--db", db);
    expect((await folder.json("import", file, "--db", db)).warningCount).toBe(0);
    expect(await folder.json("sessions", "--project", "given", "--db", db)).toMatchObject([{ id: "p" }]);
    const moved = await folder.json("import", file, "--project", "another", "--db", db);
    expect(moved.files[0].warnings).toEqual([
      { line: null, reason: 'Session "p" has project "given", not "another".' },
    ]);
  });

  slow(test)("recognizes every format by its content, in one folder, and skips other files", async () => {
    const home = join(folder.path, "formats");
    cpSync(FIXTURES, home, { recursive: true });
    writeFileSync(join(home, "settings.json"), '{"theme":"dark"}');
    writeFileSync(join(home, "cache.db"), "not a database");
    // The last words of a chat with Aider wait until nobody has written for a while.
    utimesSync(join(home, "aider", ".aider.chat.history.md"), 0, 0);
    const db = join(folder.path, "formats.db");
    const report = await folder.json("import", home, "--db", db);
    // The third one is the tables from which a test makes a database of opencode.
    expect(report).toMatchObject({ passedOverCount: 3, warningCount: 0, isDryRun: false });
    expect(new Set(report.files.map(({ format }: { format: string }) => format))).toEqual(
      new Set(Object.keys(samplesByFormat)),
    );
    const before = digest(db);
    expect(await folder.json("import", home, "--db", db)).toMatchObject({ newCount: 0, knownCount: report.newCount });
    expect(digest(db)).toBe(before);
    const branches = `SELECT s.id, b.fork_seq, m.text FROM sessions b JOIN sessions s ON s.id = b.parent_session_id
      JOIN messages m ON m.session_id = s.id AND m.seq = b.fork_seq
      WHERE s.source = 'gemini-cli' AND b.superseded_at_ms IS NOT NULL`;
    expect(await folder.json("sql", branches, "--db", db)).toEqual([
      { id: "5d0c7e1a-9b2f-4c3d-8e4f-0a1b2c3d4e5f", fork_seq: 8, text: "keep11 Relay R1 bounces for 40 ms." },
    ]);
  });

  test("shows with --dry-run what an import would do, and does nothing", async () => {
    const db = join(folder.path, "dry.db");
    const lines = longSession("dry", 4);
    const file = folder.jsonl("dry.jsonl", lines);
    expect(await folder.json("import", file, "--dry-run", "--db", db)).toMatchObject({ newCount: 4, isDryRun: true });
    expect(existsSync(db)).toBe(false);
    await folder.json("import", folder.jsonl("dry.jsonl", lines.slice(0, 3)), "--db", db);
    const before = digest(db);
    folder.jsonl("dry.jsonl", lines.with(1, { ...lines[1]!, content: "never said" }));
    const { exitCode, stdout } = await folder.run(["import", join(folder.path, "dr?.jsonl"), "--dry-run", "--db", db]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("1 new message and 2 already there, 1 warning. Nothing was imported: this was a dry run.");
    expect(digest(db)).toBe(before);
  });

  test("reads standard input", async () => {
    const db = join(folder.path, "stdin.db");
    const stdin = '{"session":"piped","role":"user","content":"hello"}\n';
    const { exitCode } = await folder.run(["import", "-", "--db", db], { stdin });
    expect(exitCode).toBe(0);
    expect(await folder.json("sessions", "--db", db)).toMatchObject([{ id: "piped", messageCount: 1 }]);
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

  test("creates the store in the user's data folder, readable by its owner only", async () => {
    const data = join(folder.path, "data");
    const env = { COPPICE_DB: "", XDG_DATA_HOME: data };
    const { exitCode } = await folder.run(["import", join(FIXTURES, "neutral.jsonl")], { env });
    expect(exitCode).toBe(0);
    expect(existsSync(join(data, "coppice", "agent.db"))).toBe(true);
    expect(statSync(join(data, "coppice")).mode & 0o777).toBe(0o700);
    expect(statSync(join(data, "coppice", "agent.db")).mode & 0o777).toBe(0o600);
  });
});

function digest(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
