import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect } from "vitest";
import { BLOCK_MAX } from "../../src/store/derived/id-block.ts";
import { asRole, connected, grantedTo, HAS_PGVECTOR, hubDatabase, run, test } from "../support/hub.ts";

const url = await hubDatabase();
const [READER, WRITER, STRANGER] = ["reader", "writer", "stranger"].map((name) => `${name}_${process.pid}`) as [
  string,
  string,
  string,
];
const [TEAM, OTHER] = [`web_${process.pid}`, `other_${process.pid}`];

beforeAll(async () => {
  for (const role of [READER, WRITER, STRANGER]) await run(url, `CREATE ROLE ${role} LOGIN`);
  await grantedTo(url, READER, TEAM, "read");
  await grantedTo(url, WRITER, TEAM, "write");
  await grantedTo(url, STRANGER, OTHER, "write");
});

const PLACE = { place: "7", team: `'coppice_team_${TEAM}'` };
const SESSION = { ...PLACE, session_no: "1" };

/** Values for the columns that must have one. */
const ROWS: Record<string, Record<string, string>> = {
  places: { ...PLACE, project: "'web'" },
  sessions: { ...SESSION, session_id: "'s'", origin: `'${randomUUID()}'`, holder: "gen_random_uuid()" },
  messages: {
    ...{ ...SESSION, message_id: "1", seq: "0", step_id: "1", turn_seq: "0", role: "1", pinned: "false" },
    ...{ token_count: "1", created_at_ms: "1", digest: "'\\x00'", body: "'\\x01'" },
  },
  facts: { ...SESSION, kind: "'unions'", chunk: "0", digest: "'\\x00'", body: "'\\x01'" },
  artifacts: { ...SESSION, sha256: "'\\x00'", body: "'\\x01'" },
  segments: { ...PLACE, segment: "1", level: "0", has_gone: "false", head: "'\\x01'" },
  buckets: { ...PLACE, segment: "1", bucket: "0", body: "'\\x01'" },
  clusters: {
    ...{ ...SESSION, root: "1", embedder_id: "'letters-2'", dimension: "2", members: "'{1}'", digest: "'\\x00'" },
    ...(HAS_PGVECTOR && { centroid: "'[1,0]'" }),
  },
  tombstones: { ...SESSION, tombstone_no: "1" },
};

/** What no key has. */
const MISSING: Record<string, string> = {
  ...{ place: "999", session_no: "999", message_id: "999", chunk: "999", root: "999", tombstone_no: "999" },
  ...{ segment: "999", bucket: "999", sha256: "'\\x99'", kind: "'none'", session_id: "'none'", project: "'none'" },
  origin: `'${randomUUID()}'`,
};

/** All tables with rows of teams. */
const TABLES = Object.keys(ROWS);

describe("the catalog", () => {
  test("the tables are known here", async () => {
    const names = await run<{ name: string }>(
      url,
      "SELECT relname AS name FROM pg_class WHERE relnamespace = 'coppice'::regnamespace AND relkind = 'r'",
    );
    expect(names.map(({ name }) => name).sort()).toEqual([...TABLES, "blocks", "hub"].sort());
  });

  test("every key begins with the distribution column, and `places` is small enough for every node", async () => {
    const keys = await run<{ name: string; table: string; first: string }>(
      url,
      `SELECT i.indexrelid::regclass::text AS name, c.relname AS table, a.attname AS first
       FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
       WHERE c.relnamespace = 'coppice'::regnamespace AND c.relname NOT IN ('blocks', 'hub', 'places')`,
    );
    expect(keys.length).toBeGreaterThan(5);
    expect(keys.filter(({ first }) => first !== "place")).toEqual([]);
    const references = await run<{ definition: string }>(
      url,
      `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE contype = 'f' AND connamespace = 'coppice'::regnamespace`,
    );
    expect(references.length).toBeGreaterThan(3);
    expect(
      references.filter(({ definition }) => !/^FOREIGN KEY \(place\b.*REFERENCES \S+\(place\b/.test(definition)),
    ).toEqual([]);
  });

  test("no triggers, no subqueries in policies, no identity columns", async () => {
    const triggers = await run(
      url,
      `SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
       WHERE c.relnamespace = 'coppice'::regnamespace AND NOT tgisinternal`,
    );
    const policies = await run<{ qual: string; with_check: string | null }>(
      url,
      "SELECT qual, with_check FROM pg_policies",
    );
    const identities = await run(
      url,
      "SELECT 1 FROM information_schema.columns WHERE table_schema = 'coppice' AND is_identity = 'YES'",
    );
    expect([triggers, identities]).toEqual([[], []]);
    expect(policies.length).toBeGreaterThanOrEqual(TABLES.length);
    expect(policies.filter(({ qual, with_check }) => /select/i.test(`${qual} ${with_check}`))).toEqual([]);
  });

  test("rows go as VALUES, because a distributed Postgres turns INSERT … unnest into a copy that policies forbid", () => {
    const room = join(import.meta.dirname, "../../src/hub");
    const sources = readdirSync(room)
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(room, file), "utf8"));
    expect(sources.filter((source) => /insert[^`"]*unnest/i.test(source))).toEqual([]);
  });
});

describe("a team's rows", () => {
  const insertOf = (table: string, values: Record<string, string>): string =>
    `INSERT INTO coppice.${table} (${Object.keys(values).join(", ")}) VALUES (${Object.values(values).join(", ")})`;
  /** Numbers that the server gives. */
  const GIVEN: Record<string, string> = { places: "place", sessions: "session_no", segments: "segment" };
  const insertAs = (table: string, values: Record<string, string>): string =>
    insertOf(table, Object.fromEntries(Object.entries(values).filter(([column]) => column !== GIVEN[table])));

  beforeAll(async () => {
    for (const [table, values] of Object.entries(ROWS)) await run(url, insertOf(table, values));
    for (const kind of ["place", "session", "segment"]) await run(url, `SELECT setval('coppice.${kind}_numbers', 100)`);
  });

  test.each(TABLES)("%s: a stranger sees nothing and changes nothing", async (table) => {
    const stranger = await connected(asRole(url, STRANGER));
    expect((await stranger.query(`SELECT * FROM coppice.${table}`)).rows).toEqual([]);
    const mine = await connected(url);
    const before = (await mine.query(`SELECT * FROM coppice.${table}`)).rows;
    await expect(stranger.query(insertAs(table, { ...ROWS[table]!, place: "8" }))).rejects.toThrow(
      /row-level security/,
    );
    for (const change of changesOf(table)) await stranger.query(change).catch(() => {});
    expect((await mine.query(`SELECT * FROM coppice.${table}`)).rows).toEqual(before);
  });

  test.each(TABLES)("%s: a reader reads, and changes nothing", async (table) => {
    const reader = await connected(asRole(url, READER));
    expect((await reader.query(`SELECT * FROM coppice.${table}`)).rowCount).toBe(1);
    for (const change of [insertOf(table, { ...ROWS[table]!, place: "8" }), ...changesOf(table)]) {
      await expect(reader.query(change)).rejects.toThrow(/permission denied/);
    }
  });

  test.each(TABLES)("%s: a writer adds, and gives no row to another team", async (table) => {
    const writer = await connected(asRole(url, WRITER));
    const other = { ...ROWS[table]!, team: `'coppice_team_${OTHER}'` };
    await expect(writer.query(insertAs(table, other))).rejects.toThrow(/row-level security/);
    for (const change of [`UPDATE coppice.${table} SET team = 'x'`, `DELETE FROM coppice.${table} WHERE false`]) {
      await expect(writer.query(change)).rejects.toThrow(/permission denied/);
    }
  });

  test.each(TABLES)("%s: a stranger's row tells nothing of the team's rows", async (table) => {
    const stranger = await connected(asRole(url, STRANGER));
    const own = { ...ROWS[table]!, team: `'coppice_team_${OTHER}'` };
    const keys = await run<{ column: string }>(
      url,
      `SELECT DISTINCT a.attname AS column FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
       WHERE i.indrelid = $1::regclass AND i.indisunique AND a.attname <> 'team'`,
      [`coppice.${table}`],
    );
    expect(keys.length).toBeGreaterThan(0);
    for (const end of ["", "ON CONFLICT DO NOTHING", "ON CONFLICT DO NOTHING RETURNING 1"]) {
      const outcomeOf = (values: Record<string, string>) => outcome(stranger, `${insertAs(table, values)} ${end}`);
      const existing = await outcomeOf(own);
      for (const { column } of keys.filter(({ column }) => column in own && column !== GIVEN[table])) {
        expect(await outcomeOf({ ...own, [column]: MISSING[column]! }), `${column} ${end}`).toEqual(existing);
      }
    }
  });

  test.each(TABLES)("%s: nobody but its owner locks it against others", async (table) => {
    for (const role of [WRITER, READER, STRANGER]) {
      const client = await connected(asRole(url, role));
      for (const mode of ["ACCESS EXCLUSIVE", "EXCLUSIVE", "SHARE ROW EXCLUSIVE", "SHARE", "SHARE UPDATE EXCLUSIVE"]) {
        expect(await outcome(client, `LOCK TABLE coppice.${table} IN ${mode} MODE`), mode).toMatch(/^42501/);
      }
    }
  });

  test("only writers of the team delete, by functions that say what", async () => {
    const calls = [
      "delete_fact(7, 1, 'unions', 0)",
      "delete_artifacts_except(7, 1, '{}')",
      "delete_clusters(7, 1, '{1}')",
      "delete_messages(7, 1, '{1}')",
      "delete_session(7, 1)",
      "delete_segments(7, '{1}')",
    ];
    const known = await run<{ name: string }>(
      url,
      "SELECT proname AS name FROM pg_proc WHERE pronamespace = 'coppice'::regnamespace AND prosecdef AND proname <> 'grant_block'",
    );
    expect(known.map(({ name }) => name).sort()).toEqual(calls.map((call) => call.split("(")[0]!).sort());
    const [writer, reader, stranger] = [
      await connected(asRole(url, WRITER)),
      await connected(asRole(url, READER)),
      await connected(asRole(url, STRANGER)),
    ];
    const deletable = TABLES.filter((table) => !["places", "sessions", "tombstones"].includes(table));
    const countOf = async (client: typeof writer): Promise<number> => {
      const counts = deletable.map((table) => `(SELECT count(*) FROM coppice.${table})`);
      return Number((await client.query(`SELECT ${counts.join(" + ")} AS n`)).rows[0].n);
    };
    for (const call of calls) {
      expect(await outcome(reader, `SELECT coppice.${call}`), call).toMatch(/^42501/);
      await stranger.query(`SELECT coppice.${call}`);
    }
    expect(await countOf(writer)).toBe(deletable.length);
    await writer.query("BEGIN");
    for (const call of calls.slice(0, 4)) await writer.query(`SELECT coppice.${call}`);
    expect(await countOf(writer)).toBe(deletable.length - 4);
    await writer.query(`ROLLBACK; BEGIN`);
    for (const call of calls.slice(4)) await writer.query(`SELECT coppice.${call}`);
    expect(await countOf(writer)).toBe(0);
    await writer.query("ROLLBACK");
  });

  test("a message's content cannot be changed, and no row goes into a place of another team", async () => {
    const writer = await connected(asRole(url, WRITER));
    await expect(writer.query("UPDATE coppice.messages SET body = '\\x02'")).rejects.toThrow(/permission denied/);
    const stranger = await connected(asRole(url, STRANGER));
    const others = { message_id: "2", root: "2", chunk: "2", sha256: "'\\x02'", bucket: "2", tombstone_no: "2" };
    for (const table of TABLES.filter((name) => name !== "places")) {
      const own = Object.entries({ ...ROWS[table]!, ...others }).filter(([column]) => column in ROWS[table]!);
      const intruding = { ...Object.fromEntries(own), team: `'coppice_team_${OTHER}'` };
      await expect(stranger.query(insertAs(table, intruding)), table).rejects.toThrow(/foreign key/);
    }
  });

  test("a place that all writers would see cannot be made, because they would push to it", async () => {
    const stranger = await connected(asRole(url, STRANGER));
    for (const role of ["coppice_writer", STRANGER]) {
      const shared = insertAs("places", { ...ROWS.places!, team: `'${role}'`, project: "'payroll'" });
      await expect(stranger.query(shared)).rejects.toThrow(/check constraint/);
    }
  });

  test("nobody chooses a number that others get next", async () => {
    const stranger = await connected(asRole(url, STRANGER));
    for (const [table, column] of Object.entries(GIVEN)) {
      const chosen = { ...ROWS[table]!, team: `'coppice_team_${OTHER}'`, [column]: "9" };
      await expect(stranger.query(insertOf(table, chosen)), table).rejects.toThrow(/permission denied/);
    }
  });

  test("the rows of a session are found by the key although a policy is on", async () => {
    const reader = await connected(asRole(url, READER));
    await reader.query("SET enable_seqscan = off");
    for (const [table, column] of [
      ["messages", "session_no"],
      ["facts", "session_no"],
      ["artifacts", "session_no"],
      ["tombstones", "session_no"],
      ["clusters", "session_no"],
    ]) {
      const { rows } = await reader.query(`EXPLAIN SELECT * FROM coppice.${table} WHERE place = 7 AND ${column} = 1`);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toMatch(/Index Cond: \(\(place = 7\) AND \(session_no = 1\)\)/);
      expect(plan).toMatch(/Filter: pg_has_role/);
    }
  });

  test("only the owner counts blocks of ids, and no number uses them up", async () => {
    const writer = await connected(asRole(url, WRITER));
    for (const sql of ["UPDATE coppice.blocks SET used = 0", "SELECT setval('coppice.id_blocks', 1)"]) {
      await expect(writer.query(sql)).rejects.toThrow(/permission denied/);
    }
    const granted = async (above: number | bigint, client = writer): Promise<number | null> => {
      const { rows } = await client.query<{ block: string | null }>("SELECT coppice.grant_block($1) AS block", [above]);
      return rows[0]!.block === null ? null : Number(rows[0]!.block);
    };
    expect([await granted(0), await granted(0), await granted(40), await granted(3)]).toEqual([1, 2, 41, 42]);
    expect([await granted(2n ** 63n - 1n), await granted(BLOCK_MAX), await granted(-5)]).toEqual([null, null, 43]);
    // All that a role can skip and take is its share.
    expect(await granted(200_000)).toBe(200_001);
    expect([await granted(300_000), await granted(0)]).toEqual([null, 200_002]);
    expect(await granted(2 ** 18 - 10)).toBe(2 ** 18 - 9);
    const many = "SELECT count(coppice.grant_block(0))::int AS n FROM generate_series(1, 100)";
    expect((await writer.query(many)).rows).toEqual([{ n: 9 }]);
    expect(await granted(0)).toBe(null);
    const stranger = await connected(asRole(url, STRANGER));
    expect(await granted(0, stranger)).toBe(2 ** 18 + 1);
    const reader = await connected(asRole(url, READER));
    await expect(reader.query("SELECT coppice.grant_block(0)")).rejects.toThrow(/permission denied/);
  });

  test("whoever gets a block and goes on with the transaction keeps nobody else waiting", async () => {
    const [idle, other] = [await connected(asRole(url, STRANGER)), await connected(url)];
    await idle.query("BEGIN; SELECT coppice.grant_block(0)");
    await other.query("SET lock_timeout = 500; SELECT coppice.grant_block(0)");
    await idle.query("ROLLBACK");
  });

  /** What the caller is told; the values that it gave itself do not count. */
  async function outcome(client: Awaited<ReturnType<typeof connected>>, sql: string): Promise<string> {
    await client.query("BEGIN");
    const told = await client.query(sql).then(
      ({ rowCount }) => `${rowCount} rows`,
      ({ code, message, constraint }) => `${code} ${message} ${constraint}`,
    );
    await client.query("ROLLBACK");
    return told;
  }

  /** Changes of every kind that a right could allow. */
  function changesOf(table: string): string[] {
    const updatable: Record<string, string> = {
      places: "tombstone_count = 9",
      sessions: "title = 'x'",
      messages: "seq = 9",
      facts: "body = '\\x09'",
    };
    return [
      `UPDATE coppice.${table} SET ${updatable[table] ?? "place = place"}`,
      `DELETE FROM coppice.${table}`,
      `TRUNCATE coppice.${table} CASCADE`,
    ];
  }
});
