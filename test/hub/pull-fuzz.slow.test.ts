import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { expect, onTestFinished } from "vitest";
import { decodeRows } from "../../src/hub/rows.ts";
import { StoreError } from "../../src/index.ts";
import { sessionIds } from "../../src/session/aids/session-ids.ts";
import type { FactRow } from "../../src/store/facts/fact-rows.ts";
import { connected, hubWithStores, test } from "../support/hub.ts";
import { richSession } from "../support/rich-session.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { temporaryStore } from "../support/temporary-store.ts";

/** Values that a column of another type does not hold, and values at its ends. `undefined` takes the value away. */
const EVIL = [
  undefined,
  null,
  true,
  "",
  "x",
  "\ud800",
  "null",
  "{}",
  "[]",
  '[{"type":"text"}]',
  -1,
  0,
  0.5,
  1e300,
  2 ** 53,
  -(2 ** 53),
  2 ** 31,
  {},
  [],
  { base64: "" },
  { base64: "AAECAw==" },
  { base64: 7 },
];

/** Columns of the hub, with values that their types allow. */
const COLUMNS: Record<string, readonly string[]> = {
  "messages.branch": ["NULL", "''", "'other'", "'s'"],
  "messages.seq": ["-1", "0", "2147483647"],
  "messages.step_id": ["-1", "0", "9223372036854775807"],
  "messages.turn_seq": ["-1", "2147483647"],
  "messages.checksum": ["NULL", "0", "-9223372036854775808"],
  "messages.message_id": ["-message_id", "message_id + 9007199254740992", "0 - message_id * 1000"],
  "facts.kind": ["kind || 'x'", "''", "upper(kind)"],
  "facts.chunk": ["-1", "2147483647"],
  "artifacts.sha256": ["'\\x00'"],
  "sessions.newest_id": ["-1", "0", "9223372036854775807"],
  "sessions.last_id": ["-1", "9223372036854775807"],
  "sessions.marked_id": ["1", "9223372036854775807"],
  "sessions.session_id": ["'\u2028'"],
};

const TABLES = ["sessions", "messages", "facts", "artifacts"];

/**
 * Goal: whatever a colleague has written into the rows of a session, a pull writes all of a sound session or nothing, and says why.
 * Method: change one value of one row on the hub, pull into a store, and look at the store.
 */
test("a value of any kind in any column is refused or taken whole", { timeout: 400_000 }, async () => {
  const { url, hub, home: theirs } = await hubWithStores({ summarizer: scriptedSummarizer("good") });
  await richSession(theirs, "s");
  await hub.push(theirs, { projects: ["web"] });
  const client = await connected(url);
  for (const table of TABLES) await client.query(`CREATE TABLE public.sound_${table} AS TABLE coppice.${table}`);
  await client.query("SET session_replication_role = replica");
  const restore = async (): Promise<void> => {
    for (const table of TABLES) await client.query(`DELETE FROM coppice.${table}`);
    for (const table of TABLES) await client.query(`INSERT INTO coppice.${table} TABLE public.sound_${table}`);
  };
  const bodies: { table: string; ctid: string; rows: FactRow[] }[] = [];
  for (const table of TABLES.slice(1)) {
    const { rows } = await client.query<{ ctid: string; body: Buffer }>(`SELECT ctid, body FROM public.sound_${table}`);
    for (const { ctid, body } of rows) bodies.push({ table, ctid, rows: decodeRows(body) });
  }
  expect(new Set(bodies.flatMap(({ rows }) => rows.map(({ table }) => table))).size).toBeGreaterThan(10);

  let own = temporaryStore();
  const outcomes = new Map<string, number>();
  const pull = async (what: string): Promise<void> => {
    const problem = await hub.pull(own, "s").then(
      () => undefined,
      (error: unknown) => error,
    );
    if (problem !== undefined && !(problem instanceof StoreError)) throw new Error(what, { cause: problem });
    const outcome = problem?.code ?? "taken";
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    const store = own;
    if (problem === undefined || sessionIds(store).length > 0) own = temporaryStore();
    if (problem === undefined) {
      expect(store.verify(), what).toMatchObject({ ok: true });
      store.resume("s").render({ tokensMax: 2_000 });
      store.close();
    } else {
      expect(store.query("SELECT id FROM sessions UNION ALL SELECT id FROM messages"), what).toEqual([]);
    }
  };
  onTestFinished(() => own.close());
  await restore();
  await pull("unchanged");
  expect([...outcomes]).toEqual([["taken", 1]]);

  for (const [column, values] of Object.entries(COLUMNS)) {
    const [table, name] = column.split(".") as [string, string];
    for (const value of values) {
      const row = `ctid = (SELECT ctid FROM coppice.${table} ORDER BY md5(ctid::text) LIMIT 1)`;
      await client.query(`UPDATE coppice.${table} SET ${name} = ${value} WHERE ${row}`);
      await pull(`${column} = ${value}`);
      await restore();
    }
  }
  const altered = async (kind: string, row: number, column: (names: string[]) => string, value: unknown) => {
    const holding = bodies.filter(({ rows }) => rows.some(({ table }) => table === kind));
    const chosen = holding[row % holding.length]!;
    const at = chosen.rows.findIndex(({ table }) => table === kind);
    const name = column(Object.keys(chosen.rows[at]!.row));
    const lines = chosen.rows.map(({ table, row: values }, index) =>
      JSON.stringify({ table, row: plain(index === at ? { ...values, [name]: value } : values) }),
    );
    const bytes = Buffer.concat([Buffer.of(1), deflateRawSync(lines.join("\n"))]);
    const original = `SELECT body FROM public.sound_${chosen.table} WHERE ctid = $2`;
    await client.query(`UPDATE coppice.${chosen.table} SET body = $1 WHERE body = (${original})`, [bytes, chosen.ctid]);
    await pull(`${kind}.${name} = ${JSON.stringify(value)}`);
    await restore();
  };
  for (const pointer of ["/0/__proto__/polluted", "/__proto__/polluted", "/9/content", "/0/type/0", ""]) {
    await altered("messageArtifacts", 0, () => "pointer", pointer);
  }
  expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  // Each kind of row as often as another.
  const kinds = [...new Set(bodies.flatMap(({ rows }) => rows.map(({ table }) => table)))];
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...kinds), fc.nat(), fc.nat(), fc.constantFrom(...EVIL), (kind, row, at, value) =>
      altered(kind, row, (names) => names[at % names.length]!, value),
    ),
    { numRuns: 200 },
  );
  expect(outcomes.get("ROWS_INVALID")).toBeGreaterThan(80);
  expect(outcomes.get("taken")).toBeGreaterThan(5);
});

/** As rows are written: bytes are in base64. */
function plain(row: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [
      key,
      Buffer.isBuffer(value) ? { base64: value.toString("base64") } : value,
    ]),
  );
}
