import { beforeAll, describe, expect, test } from "vitest";
import { CliFolder, longSession } from "../support/cli.ts";

const folder = new CliFolder({ isHere: true });

beforeAll(async () => {
  await folder.json("import", folder.jsonl("sql.jsonl", longSession("sql", 3)));
});

describe("sql", () => {
  test("lists the views, the tables, and their columns", async () => {
    const zones = ["message_id", "session_id", "seq", "zone", "is_hot", "is_cold"];
    const tables = await folder.json("sql");
    expect(tables).toContainEqual({ name: "message_zones", kind: "view", columns: zones });
    const kinds = tables.map(({ kind }: { kind: string }) => kind);
    expect(kinds).toEqual(kinds.toSorted().toReversed());
    const piped = (await folder.run(["sql"])).stdout;
    expect(piped).toMatch(/^name\tkind\tcolumns\n/);
    expect(piped).toContain(`\nmessage_zones\tview\t${zones.join(", ")}\n`);
    const { stdout } = await folder.run(["sql"], { env: { COLUMNS: "40" } });
    expect(stdout).toContain("message_zones  view\n  message_id, session_id, seq, zone,\n  is_hot, is_cold\n");
  });

  test("prints a tab between two columns, blobs as their size, each row on one line", async () => {
    const query = "SELECT seq, 'a' || char(10) || 'b' AS text, x'00ff' AS bytes, NULL AS none FROM messages";
    expect((await folder.run(["sql", query])).stdout.split("\n")).toEqual([
      "seq\ttext\tbytes\tnone",
      "0\ta↵b\tblob, 2 bytes\tNULL",
      "1\ta↵b\tblob, 2 bytes\tNULL",
      "2\ta↵b\tblob, 2 bytes\tNULL",
      "",
    ]);
  });

  test("prints an array of row objects, blobs as base64", async () => {
    const query = "SELECT seq, role, x'00ff' AS bytes, NULL AS none, 1.5 AS real FROM messages WHERE seq < 2";
    expect(await folder.json("sql", query)).toEqual([
      { seq: 0, role: "user", bytes: "AP8=", none: null, real: 1.5 },
      { seq: 1, role: "assistant", bytes: "AP8=", none: null, real: 1.5 },
    ]);
    expect(await folder.json("sql", "SELECT 1 WHERE false")).toEqual([]);
  });

  test("refuses a statement that writes", async () => {
    const refusal = await folder.refusal(1, "sql", "DELETE FROM messages RETURNING id", "--json");
    expect(JSON.parse(refusal).error.code).toBe("QUERY_REFUSED");
  });

  test.each([
    ["SELECT * FROM message", "The tables and views: cluster_members, message_zones, "],
    ["SELECT titel FROM sessions", "sessions has id, project, title,"],
  ])("%s: says what there is", async (query, hint) => {
    expect(await folder.refusal(1, "sql", query)).toContain(hint);
  });
});
