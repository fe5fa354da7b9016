import { describe, expect } from "vitest";
import { initHub, upgradeHub } from "../../src/hub/administration.ts";
import { MIGRATIONS } from "../../src/hub/migrations.ts";
import { addCentroids } from "../../src/hub/pgvector.ts";
import { slow, someOf } from "../support/effort.ts";
import {
  connected,
  emptyDatabase,
  grantedTo,
  HAS_PGVECTOR,
  hubWithStores,
  openedConnection,
  openedHub,
  run,
  test,
} from "../support/hub.ts";
import { letterEmbedder } from "../support/other-embedders.ts";
import { expectOnHub } from "../support/pushed.ts";
import { richSession } from "../support/rich-session.ts";
import { talk, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";

const BEFORE = Array.from({ length: MIGRATIONS.length - 1 }, (_, index) => index + 1);

/** Before this version, messages had their vectors elsewhere. */
const VECTORS_SINCE = 4;

/** A database with the tables as a version made them. */
async function databaseOf(version: number): Promise<string> {
  const url = await emptyDatabase();
  await run(
    url,
    `CREATE SCHEMA coppice;
     CREATE TABLE coppice.hub (version integer NOT NULL, client_min integer NOT NULL, id_block bigint NOT NULL DEFAULT 0);
     INSERT INTO coppice.hub VALUES (${version}, ${MIGRATIONS[version - 1]!.clientMin});
     ${MIGRATIONS.slice(0, version)
       .map(({ sql }) => sql)
       .join("\n")}`,
  );
  if (version >= VECTORS_SINCE && HAS_PGVECTOR) await (await openedConnection(url)).administer(addCentroids);
  return url;
}

const TABLES = [
  "places",
  "sessions",
  "messages",
  "facts",
  "artifacts",
  "tombstones",
  "segments",
  "buckets",
  "clusters",
];

async function columnsOf(url: string, table: string): Promise<string[]> {
  const rows = await run<{ name: string }>(
    url,
    "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'coppice' AND table_name = $1 ORDER BY 1",
    [table],
  );
  return rows.map(({ name }) => name);
}

/** The rows of a table as texts, so that nothing is rounded. */
async function rowsOf(url: string, table: string, columns: readonly string[]): Promise<Record<string, string>[]> {
  if (columns.length === 0) return [];
  return run(url, `SELECT ${columns.map((name) => `${name}::text`).join(", ")} FROM coppice.${table} ORDER BY 1, 2, 3`);
}

/** Copies what the tables of an older version have room for. */
async function copyRows(from: string, to: string): Promise<void> {
  const client = await connected(to);
  for (const table of TABLES) {
    const columns = await columnsOf(to, table);
    const types = await run<{ name: string; type: string }>(
      to,
      `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
       WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
      [`coppice.${table}`],
    );
    const typeOf = new Map(types.map(({ name, type }) => [name, type]));
    for (const row of await rowsOf(from, table, columns)) {
      const values = columns.map((name, index) => `$${index + 1}::text::${typeOf.get(name)}`);
      const insert = `INSERT INTO coppice.${table} (${columns.join(", ")}) VALUES (${values.join(", ")})`;
      await client.query(insert, Object.values(row));
    }
  }
  for (const kind of ["place", "session", "segment"]) {
    await run(to, `SELECT setval(to_regclass('coppice.${kind}_numbers'), 1000)`);
  }
}

describe("an upgrade", () => {
  test.each(someOf(BEFORE, 1))("from version %i keeps every row, and the team goes on", async (version) => {
    const {
      url: source,
      hub,
      home,
      away,
    } = await hubWithStores({
      summarizer: scriptedSummarizer("good"),
      ...(version >= VECTORS_SINCE && { embedder: letterEmbedder }),
    });
    await richSession(home, "s");
    home.session("gone", { project: "web" }).append(talk(10));
    const names = { sessions: ["s", "gone"], projects: ["web"] };
    await hub.push(home, names);
    home.forget("gone");
    // So many words that they do not fit into the head of a segment.
    const wide = Array.from({ length: 400 }, (_, number) =>
      user(Array.from({ length: 100 }, (_, index) => `word${number * 100 + index}`).join(" ")),
    );
    home.session("wide", { project: "web" }).append(wide);
    await hub.push(home, { sessions: ["s", "wide"], projects: ["web"] });

    const url = await databaseOf(version);
    await copyRows(source, url);
    const kept = await Promise.all(
      TABLES.map(async (table) => {
        const columns = await columnsOf(url, table);
        return { table, columns, rows: await rowsOf(url, table, columns) };
      }),
    );
    const empty = kept.filter(({ columns, rows }) => columns.length > 0 && rows.length === 0);
    expect(empty.map(({ table }) => table).filter((table) => HAS_PGVECTOR || table !== "clusters")).toEqual([]);
    const before = await openedConnection(url);
    await expect(before.transaction(async () => {})).rejects.toMatchObject({
      code: "HUB_NOT_READY",
      details: { command: "coppice hub upgrade" },
    });
    expect(await upgradeHub(before)).toMatchObject({ versionBefore: version, version: MIGRATIONS.length });
    for (const { table, columns, rows } of kept) expect(await rowsOf(url, table, columns), table).toEqual(rows);

    const role = new URL(source).username;
    const again = await openedHub(await grantedTo(url, role, "test", "write"));
    await expectOnHub(url, home, "s");
    expect(await again.pull(away, "s", { take: true })).toMatchObject({ outcome: "new", isHolder: true });
    expect(away.resume("s").render({ tokensMax: 2_000 })).toEqual(home.resume("s").render({ tokensMax: 2_000 }));
    away.resume("s").append(talk(20));
    expect(await again.push(away, { sessions: ["s"] })).toMatchObject({ messageCount: 20 });
    away.forget("s");
    await again.push(away, { projects: ["web"] });
    expect(await run(url, "SELECT count(*)::int AS n FROM coppice.messages")).toEqual([{ n: wide.length }]);
  });

  test("gives the same constraints and rights as a new hub has", async () => {
    const state = async (url: string): Promise<unknown> => {
      const constraints = await run(
        url,
        `SELECT conrelid::regclass::text AS table, conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
         WHERE connamespace = 'coppice'::regnamespace AND contype <> 'n' ORDER BY 1, 2`,
      );
      const rights = await run(
        url,
        `SELECT relname AS name, relacl::text AS acl, relrowsecurity AS policies FROM pg_class
         WHERE relnamespace = 'coppice'::regnamespace ORDER BY 1`,
      );
      return { constraints, rights };
    };
    const fresh = await emptyDatabase();
    await initHub(await openedConnection(fresh));
    const old = await databaseOf(1);
    await upgradeHub(await openedConnection(old));
    expect(await state(old)).toEqual(await state(fresh));
  });

  test("goes on with the counter of blocks, unless somebody had used it up", async () => {
    const granted = async (idBlock: number): Promise<number> => {
      const url = await databaseOf(4);
      await run(url, `UPDATE coppice.hub SET id_block = ${idBlock}`);
      await upgradeHub(await openedConnection(url));
      return Number((await run<{ block: string }>(url, "SELECT coppice.grant_block(0) AS block"))[0]!.block);
    };
    expect([await granted(0), await granted(77), await granted(33_538_049)]).toEqual([1, 78, 65_537]);
  });
});

slow(test)(
  "of two upgrades at once, one changes the tables, and nobody can keep the other waiting by the lock of administrators",
  async () => {
    const url = await databaseOf(4);
    const holder = await openedConnection(url);
    const results = await holder.administer(async (client) => {
      await client.query("SELECT pg_advisory_xact_lock(7263814905)");
      return Promise.all([upgradeHub(await openedConnection(url)), upgradeHub(await openedConnection(url))]);
    });
    expect(results.map(({ versionBefore }) => versionBefore).sort()).toEqual([4, MIGRATIONS.length]);
  },
);
