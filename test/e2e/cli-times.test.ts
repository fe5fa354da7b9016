import { beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/index.ts";
import { CliFolder, longSession } from "../support/cli.ts";

/** `Date` cannot hold it. Earlier versions took any integer as a time. */
const NO_TIME = 9e15;

const folder = new CliFolder({ isHere: true });

beforeAll(() => {
  const store = openStore(folder.db, { clock: () => NO_TIME });
  const messages = longSession("old", 3).map(({ content }) => ({ role: "user" as const, content }));
  store.session("old").append(messages);
  store.close();
});

describe("a store with a time that Date cannot hold is read by", () => {
  test.each([
    [["sessions"]],
    [["show", "old"]],
    [["resume", "old"]],
    [["recall", "lighthouse lamp on March 3"]],
    [["forest", "old"]],
    [["subjects"]],
    [["recap", "--since", "1970-01-02"]],
    [["doctor"]],
    [["verify"]],
    [["export"]],
  ])("%j", async (args) => {
    for (const more of [{}, { env: { COLUMNS: "100" } }]) {
      const { exitCode, stdout, stderr } = await folder.run(args, more);
      expect([exitCode, stderr]).toEqual([0, expect.not.stringMatching(/invalid|bug/i)]);
      expect(stdout).not.toMatch(/NaN|null|Invalid/);
    }
    expect(await folder.json(...args)).toBeDefined();
  });

  test("an import of its export, without a warning", async () => {
    const { stdout } = await folder.run(["export"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).createdAt)).toEqual(Array(4).fill(8.64e15));
    const other = new CliFolder({ isHere: true });
    const report = await other.json(
      "import",
      other.jsonl(
        "old.jsonl",
        lines.map((line) => JSON.parse(line)),
      ),
    );
    expect(JSON.stringify(report)).toContain('"newCount":3');
    expect(await other.json("sessions")).toMatchObject([{ id: "old", updatedAtMs: 8.64e15 }]);
  });
});

test("an import warns of a line with such a time, and reads the others", async () => {
  const [first, ...others] = longSession("new", 3);
  const path = folder.jsonl("new.jsonl", [{ ...first!, createdAt: NO_TIME as unknown as string }, ...others]);
  const { exitCode, stdout, stderr } = await folder.run(["import", path]);
  expect([exitCode, stdout + stderr]).toEqual([0, expect.stringContaining("milliseconds from 1970")]);
  expect(await folder.json("sql", "SELECT count(*) AS n FROM messages WHERE session_id = 'new'")).toEqual([{ n: 2 }]);
});
