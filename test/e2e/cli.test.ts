import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { beforeAll, describe, expect, test } from "vitest";
import { IMPORT_FORMATS } from "../../src/importers/formats.ts";
import { CliFolder, longSession } from "../support/cli.ts";

const folder = new CliFolder();

beforeAll(async () => {
  await folder.json("import", folder.jsonl("cli.jsonl", longSession("cli", 120)));
});

test("coppice alone says what there is and what to do next, with a store and without one", async () => {
  const empty = await folder.run(["--db", `${folder.db}-none`]);
  expect([empty.exitCode, empty.stderr]).toEqual([0, ""]);
  expect(empty.stdout).toContain("coppice watch --once");
  const { exitCode, stdout } = await folder.run([]);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^agent\.db: 1 session\n/);
  expect(stdout).toContain("coppice resume @last");
  expect(await folder.json()).toMatchObject({ sessionCount: 1, last: { messageCount: 120 }, open: [] });
});

describe("help", () => {
  test("lists the commands, and exits 0", async () => {
    const { exitCode, stdout, stderr } = await folder.run(["--help"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    const names = [...stdout.matchAll(/^ {2}([a-z]+) (?:\[options\] )?(?:<|\[| {2})/gm)].map(([, name]) => name);
    expect(names.join(" ")).toBe(
      "demo setup import watch mcp sessions show recall remember ask expand resume forest subjects recap file fix how lost view sql export doctor verify backup restore reembed rewind forget projects hub completion help",
    );
  });

  test("says the package's version", async () => {
    expect((await folder.run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("misuse exits with 2 and suggests what to type", () => {
  test.each([
    [["--db"], "Option '--db "],
    [["--color"], "Option '--color "],
    [["sesions"], "Unknown command 'sesions'.\nDid you mean sessions?"],
    [["sessions", "--projct", "x"], "Unknown option '--projct'.\nDid you mean --project?"],
    [["--jsno", "sessions"], "Unknown option '--jsno'.\nDid you mean --json?"],
    [["show"], "Missing required argument 'session'.\n`coppice help show` explains it."],
    [["sessions", "--db", ""], "`--db` needs a file."],
    [["sql", "SELECT", "1"], "Too many arguments for 'sql'. Expected 1 argument but got 2."],
    [["show", "cli", "--limit", "many"], 'Expected --limit to be a whole number from 0 to 10000, got "many".'],
    [["show", "cli", "--offset", "-1"], 'Expected --offset to be a whole number from 0, got "-1".'],
    [["recall", ""], "The query is empty."],
    [["recall", "lamp", "--neighbors", "11"], "Expected --neighbors to be a whole number from 0 to 10, got 11."],
    [["recall", "lamp", "--part", "image"], "Expected --part to be one of text, reasoning, tool_call,"],
    [["expand", "1", "--level", "forest"], "Allowed choices are step, cluster, theme, subject."],
    [["expand", "theme:"], '"theme:" is not a handle'],
    [["import", "x.jsonl", "--format", "xml"], `Allowed choices are ${IMPORT_FORMATS.join(", ")}.`],
    [
      ["import"],
      "Name the files or folders to import.\n`coppice watch --once` finds the transcripts of your agents and imports them.",
    ],
    [["help", "sesions"], "Unknown command 'sesions'.\nDid you mean sessions?"],
    [["resume", "cli", "--strategy", "unionfind"], "Did you mean union-find?"],
    [["recall", "lamp", "--role", "asistant"], "Did you mean assistant?"],
    [["expand", "cl"], "That is a session: coppice show cl"],
  ])("coppice %j", async (args, message) => {
    expect(await folder.refusal(2, ...args)).toContain(message);
  });

  test("with --json prints one object on stderr", async () => {
    expect(JSON.parse(await folder.refusal(2, "sesions", "--json"))).toEqual({
      error: { code: "USAGE_INVALID", message: "Unknown command 'sesions'.", hint: "Did you mean sessions?" },
    });
  });
});

describe("failure exits with 1", () => {
  test("for a missing store, which is not created", async () => {
    const db = join(folder.path, "none.db");
    for (const args of [
      ["sessions"],
      ["show", "cli"],
      ["recall", "lamp"],
      ["sql", "SELECT 1"],
      ["verify"],
      ["verify", "--rebuild"],
    ]) {
      const { code, hint } = JSON.parse(await folder.refusal(1, ...args, "--db", db, "--json")).error;
      expect(code).toBe("FILE_NOT_FOUND");
      expect(hint).toContain("coppice import <path>");
    }
    expect(existsSync(db)).toBe(false);
  });

  test("for an unknown session, message or root", async () => {
    for (const [args, code] of [
      [["show", "nobody"], "SESSION_NOT_FOUND"],
      [["expand", "4711"], "MESSAGE_NOT_FOUND"],
      [["expand", "theme:4711"], "ROOT_NOT_FOUND"],
      [["resume", "cli", "--tokens-max", "3"], "BUDGET_TOO_SMALL"],
    ] as const) {
      expect(JSON.parse(await folder.refusal(1, ...args, "--json")).error.code).toBe(code);
    }
  });

  test("shows a stack only if COPPICE_DEBUG asks for one", async () => {
    expect((await folder.run(["show", "nobody"])).stderr).not.toContain("    at ");
    expect((await folder.run(["show", "nobody"], { env: { COPPICE_DEBUG: "1" } })).stderr).toContain("    at ");
  });
});

describe("verify", () => {
  test("finds that everything agrees", async () => {
    const { exitCode, stdout } = await folder.run(["verify"]);
    expect([exitCode, stdout]).toEqual([
      0,
      expect.stringMatching(/^Checked 1 session, 120 messages, \d+ rows of the log\.\n/),
    ]);
    expect(stdout).toContain("No problems found.");
    expect(await folder.json("verify")).toMatchObject({ ok: true, messageCount: 120, problems: [] });
  });

  test("fails if derived rows are missing, and restores them with --rebuild", async () => {
    const rows = "SELECT * FROM clusters ORDER BY root_id";
    const before = await folder.json("sql", rows);
    expect(before.length).toBeGreaterThan(1);
    const database = new Database(folder.db);
    database.exec("DELETE FROM clusters");
    database.close();

    const { exitCode, stdout, stderr } = await folder.run(["verify", "--json"]);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout).ok).toBe(false);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: "VERIFY_FAILED",
      hint: expect.stringContaining("verify --rebuild"),
    });

    expect(await folder.json("verify", "--rebuild")).toMatchObject({ ok: true, rebuiltCount: 1 });
    expect(await folder.json("sql", rows)).toEqual(before);
  });
});

describe("output", () => {
  const words = ["show", "cli", "--limit", "120"];

  test("that nobody reads to its end is not a failure", async () => {
    const { child, stderr, ended } = folder.start(words);
    child.stdout.destroy();
    expect([await ended, stderr()]).toEqual([0, ""]);
  });

  test.skipIf(!existsSync("/dev/full"))("that cannot be written is a failure", async () => {
    const { stderr, ended } = folder.start(words, { before: "exec > /dev/full" });
    expect(await ended).toBe(1);
    expect(stderr()).toMatch(/^coppice: The output cannot be written: ENOSPC[^\n]*\n$/);
  });
});
