import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect } from "vitest";
import { initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { asRole, connected, grantedTo, hubDatabase, run, test } from "../support/hub.ts";

const url = await hubDatabase();
const [READER, WRITER, STRANGER, REVOKED] = ["reader", "writer", "stranger", "revoked"].map(
  (name) => `${name}_${process.pid}`,
) as [string, string, string, string];
const [TEAM, OTHER] = [`web_${process.pid}`, `other_${process.pid}`];
const SCHEMA = `coppice_${TEAM}`;

/** Values for the columns that a writer gives. */
const ROWS: Record<string, Record<string, string>> = {
  sessions: {
    ...{
      origin: `'${randomUUID()}'`,
      session_id: "'s'",
      holder: "gen_random_uuid()",
      project: "'web'",
    },
  },
  log: { session_no: "1", n: "0", body: "'\\x01'" },
  words: { session_no: "1", n: "0", words: "to_tsvector('harbor')" },
};
const TABLES = Object.keys(ROWS);

function insertOf(table: string, values: Record<string, string> = ROWS[table]!): string {
  return `INSERT INTO ${SCHEMA}.${table} (${Object.keys(values).join(", ")}) VALUES (${Object.values(values).join(", ")})`;
}

beforeAll(async () => {
  for (const role of [READER, WRITER, STRANGER, REVOKED]) await run(url, `CREATE ROLE ${role} LOGIN`);
  await grantedTo(url, READER, TEAM, "read");
  await grantedTo(url, WRITER, TEAM, "write");
  await grantedTo(url, STRANGER, OTHER, "write");
  await grantedTo(url, REVOKED, TEAM, "write");
  const hub = await HubConnection.to(url, TEAM);
  await initHub(hub, TEAM, true);
  await hub.close();
  const writer = asRole(url, WRITER);
  for (const table of TABLES) {
    await run(writer, insertOf(table));
    if (table === "sessions") await run(writer, `UPDATE ${SCHEMA}.sessions SET length = 1`);
  }
  await run(url, `REVOKE coppice_write_${TEAM} FROM ${REVOKED}`);
});

describe("the catalog", () => {
  test("the tables are known here, and there are no functions and no triggers", async () => {
    const names = await run<{ name: string }>(
      url,
      `SELECT relname AS name FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind = 'r'`,
    );
    expect(names.map(({ name }) => name).sort()).toEqual([...TABLES, "hub"].sort());
    expect(await run(url, `SELECT FROM pg_proc WHERE pronamespace = '${SCHEMA}'::regnamespace`)).toEqual([]);
    const triggers = `SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
      WHERE c.relnamespace = '${SCHEMA}'::regnamespace AND NOT tgisinternal`;
    expect(await run(url, triggers)).toEqual([]);
  });

  test("nothing is asked of a row that is read, so every index is used", async () => {
    const reader = await connected(asRole(url, READER));
    await reader.query("SET enable_seqscan = off");
    const planOf = async (sql: string): Promise<string> =>
      (await reader.query(`EXPLAIN ${sql}`)).rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(await planOf(`SELECT * FROM ${SCHEMA}.log WHERE session_no = 1 AND n > 3`)).toMatch(/Index Cond/);
    expect(await planOf(`SELECT * FROM ${SCHEMA}.sessions WHERE session_no = 1`)).toMatch(/Index Cond/);
    const words = await planOf(`SELECT * FROM ${SCHEMA}.words WHERE words @@ 'harbor'::tsquery`);
    expect(words).toMatch(/Bitmap Index Scan on words_by_word/);
    expect(words).not.toMatch(/Filter/);
  });
});

describe("a team's rows", () => {
  test.each(TABLES)("%s: another team cannot name the table", async (table) => {
    for (const role of [STRANGER, REVOKED]) {
      const stranger = await connected(asRole(url, role));
      for (const sql of [`SELECT FROM ${SCHEMA}.${table}`, `SELECT FROM ${SCHEMA}.no_table`, insertOf(table)]) {
        await expect(stranger.query(sql)).rejects.toThrow(/permission denied for schema/);
      }
      const explain = `EXPLAIN ANALYZE SELECT FROM ${SCHEMA}.${table}`;
      await expect(stranger.query(explain)).rejects.toThrow(/permission denied for schema/);
    }
  });

  test.each(TABLES)("%s: a reader reads, and changes nothing", async (table) => {
    const reader = await connected(asRole(url, READER));
    expect((await reader.query(`SELECT FROM ${SCHEMA}.${table}`)).rowCount).toBe(1);
    const changes = [
      insertOf(table),
      `UPDATE ${SCHEMA}.${table} SET ${Object.keys(ROWS[table]!)[0]} = DEFAULT`,
      `DELETE FROM ${SCHEMA}.${table}`,
      `TRUNCATE ${SCHEMA}.${table} CASCADE`,
    ];
    for (const change of changes) await expect(reader.query(change), change).rejects.toThrow(/permission denied/);
  });

  test("a writer adds, and changes nothing that was said", async () => {
    const writer = await connected(asRole(url, WRITER));
    for (const change of [
      `UPDATE ${SCHEMA}.log SET body = '\\x02'`,
      `DELETE FROM ${SCHEMA}.log`,
      `DELETE FROM ${SCHEMA}.words`,
      `UPDATE ${SCHEMA}.sessions SET began_by = 'x'`,
      `UPDATE ${SCHEMA}.sessions SET session_no = DEFAULT`,
      `UPDATE ${SCHEMA}.hub SET version = 9`,
      `TRUNCATE ${SCHEMA}.sessions CASCADE`,
    ]) {
      await expect(writer.query(change), change).rejects.toThrow(/permission denied/);
    }
    await writer.query(`UPDATE ${SCHEMA}.sessions SET title = 'mine'`);
    const inHisName = `UPDATE ${SCHEMA}.sessions SET title = 'his', pushed_by = 'ada'`;
    await expect(writer.query(inHisName)).rejects.toThrow(/row-level security/);
    const forged = { ...ROWS.sessions!, session_id: "'t'", began_by: "'ada'" };
    await expect(writer.query(insertOf("sessions", forged))).rejects.toThrow(/permission denied/);
  });

  test("a session is deleted by the role that began it, and by no other", async () => {
    const writer = await connected(asRole(url, WRITER));
    await run(url, `GRANT coppice_write_${TEAM} TO ${REVOKED}`);
    const other = await connected(asRole(url, REVOKED));
    const deleting = `DELETE FROM ${SCHEMA}.sessions WHERE session_no = 1`;
    expect((await other.query(deleting)).rowCount).toBe(0);
    await writer.query("BEGIN");
    expect((await writer.query(deleting)).rowCount).toBe(1);
    expect((await writer.query(`SELECT FROM ${SCHEMA}.log`)).rowCount).toBe(0);
    await writer.query("ROLLBACK");
    await run(url, `REVOKE coppice_write_${TEAM} FROM ${REVOKED}`);
  });
});
