import { beforeAll, describe, expect } from "vitest";
import { grantTeam, initHub, upgradeHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { asRole, connected, emptyDatabase, hubDatabase, openedConnection, run, test } from "../support/hub.ts";

const WRITER = `shadow_writer_${process.pid}`;

/** Calls of each function that runs as the owner. They reach a row of the writer's own team. */
const CALLS: Record<string, string> = {
  delete_fact: "delete_fact(7, 1, 'unions', 0)",
  delete_artifacts_except: "delete_artifacts_except(7, 1, array['\\x01'::pg_catalog.bytea])",
  delete_clusters: "delete_clusters(7, 1, array[1::bigint])",
  delete_messages: "delete_messages(7, 1, array[1::bigint])",
  delete_session: "delete_session(7, 1)",
  delete_segments: "delete_segments(7, array[1::bigint])",
  grant_block: "grant_block(1)",
};

const OWN_ROWS = `INSERT INTO coppice.places (place, team, project) VALUES (7, 'coppice_team_shadow', 'p') ON CONFLICT DO NOTHING;
  INSERT INTO coppice.sessions (place, session_no, team, origin, session_id, holder)
    VALUES (7, 1, 'coppice_team_shadow', gen_random_uuid(), 's', gen_random_uuid()) ON CONFLICT DO NOTHING;
  INSERT INTO coppice.messages (place, session_no, message_id, team, seq, step_id, turn_seq, role, pinned, token_count, created_at_ms,
    digest, body) VALUES (7, 1, 1, 'coppice_team_shadow', 0, 1, 0, 0, false, 1, 1, '', '') ON CONFLICT DO NOTHING;
  INSERT INTO coppice.facts (place, session_no, kind, chunk, team, digest, body)
    VALUES (7, 1, 'unions', 0, 'coppice_team_shadow', '', '') ON CONFLICT DO NOTHING;
  INSERT INTO coppice.artifacts (place, session_no, sha256, team, body)
    VALUES (7, 1, '', 'coppice_team_shadow', '') ON CONFLICT DO NOTHING;
  INSERT INTO coppice.segments (place, segment, team, level, has_gone, head)
    VALUES (7, 1, 'coppice_team_shadow', 0, false, '') ON CONFLICT DO NOTHING`;

interface Shadow {
  kind: string;
  sql: string;
}

/**
 * Objects in a schema of the writer's with the name of each type, table, sequence, function and operator that the functions name.
 * Those that run note in whose name they do.
 */
async function shadowsIn(url: string, schema: string): Promise<Shadow[]> {
  const note = `CREATE FUNCTION ${schema}.note_of(what pg_catalog.text) RETURNS pg_catalog.bool LANGUAGE plpgsql AS $$
    BEGIN RAISE NOTICE 'shadow % of %', what, current_user; RETURN true; END $$`;
  const shadows: Shadow[] = [{ kind: "note", sql: note }];
  const types = ["name", "text", "bytea", "int8", "int4", "bool", "regclass", "_int8", "void", "bigint", "oid"];
  for (const type of types) {
    const base = type === "bigint" ? "int8" : type === "void" ? "text" : type;
    const check = `CHECK (${schema}.note_of('type ${type}'))`;
    shadows.push({ kind: "type", sql: `CREATE DOMAIN ${schema}."${type}" AS pg_catalog.${base} ${check}` });
  }
  // Every function and operator of one or two operands that the bodies could mean, with the same operands.
  const functions = await run<{ name: string; args: string; result: string }>(
    url,
    `SELECT p.proname AS name, pg_get_function_identity_arguments(p.oid) AS args, format_type(p.prorettype, NULL) AS result
     FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.proname IN
       ('pg_has_role', 'nextval', 'generate_series', 'max', 'greatest', 'least', 'name', 'text', 'regclass', 'session_user', 'starts_with')
       AND NOT p.proretset AND p.proargmodes IS NULL`,
  );
  for (const { name, args, result } of functions) {
    const body = `BEGIN PERFORM ${schema}.note_of('function ${name}'); RETURN NULL; END`;
    shadows.push({
      kind: "function",
      sql: `CREATE FUNCTION ${schema}."${name}"(${args}) RETURNS ${result} LANGUAGE plpgsql AS $$ ${body} $$`,
    });
  }
  const operands = ["int8", "int4", "text", "bytea", "name"].map((type) => `pg_catalog.${type}`);
  for (const operator of ["=", "<>", "<=", "-", "+"]) {
    for (const operand of operands) {
      const isSum = operator === "-" || operator === "+";
      const result = isSum ? operand : "pg_catalog.bool";
      const name = `${schema}."op ${operator} ${operand}"`;
      const value = isSum ? "$1" : "true";
      shadows.push({
        kind: "operator",
        sql: `CREATE FUNCTION ${name}(${operand}, ${operand}) RETURNS ${result} LANGUAGE plpgsql AS $$
          BEGIN PERFORM ${schema}.note_of('operator ${operator}'); RETURN ${value}; END $$;
          CREATE OPERATOR ${schema}.${operator} (FUNCTION = ${name}, LEFTARG = ${operand}, RIGHTARG = ${operand})`,
      });
    }
  }
  for (const table of ["messages", "facts", "artifacts", "clusters", "segments", "blocks", "cost", "paid"]) {
    shadows.push({ kind: "table", sql: `CREATE TABLE ${schema}.${table} (place pg_catalog.int8)` });
  }
  shadows.push({ kind: "sequence", sql: `CREATE SEQUENCE ${schema}.id_blocks` });
  return shadows;
}

/** What ran in the name of another role than the writer, in calls of each function. */
async function notesOf(url: string, schema: "pg_temp" | "shadows", kinds: readonly string[]): Promise<string[]> {
  const writer = await connected(asRole(url, WRITER));
  const notes: string[] = [];
  writer.on("notice", ({ message }) => {
    if (message?.startsWith("shadow") && !message.endsWith(` ${WRITER}`)) notes.push(message);
  });
  if (schema === "shadows") await run(url, `CREATE SCHEMA IF NOT EXISTS shadows AUTHORIZATION ${WRITER}`);
  const made = new Map<string, number>();
  for (const { kind, sql } of await shadowsIn(url, schema)) {
    if (kind !== "note" && !kinds.includes(kind)) continue;
    await writer.query(sql);
    made.set(kind, (made.get(kind) ?? 0) + 1);
  }
  for (const kind of kinds) expect(made.get(kind), kind).toBeGreaterThan(0);
  await writer.query(`SET search_path = ${schema}, pg_catalog, public`);
  for (const call of Object.values(CALLS)) {
    await run(url, OWN_ROWS);
    await writer
      .query(`SELECT * FROM coppice.${call}`)
      .catch((error: Error) => notes.push(`${call}: ${error.message}`));
  }
  return notes;
}

const KINDS = ["type", "function", "operator", "table", "sequence"];

describe("functions that run as the owner", () => {
  let url: string;
  beforeAll(async () => {
    url = await hubDatabase();
    if (url === "") return;
    await run(url, `CREATE ROLE ${WRITER} LOGIN`);
    const hub = await HubConnection.to(url);
    await grantTeam(hub, WRITER, "shadow", "write");
    await hub.close();
    return async () => {
      await run(url, `DROP OWNED BY ${WRITER}; DROP ROLE ${WRITER}`);
    };
  });

  test("are those that are called here, name their path, and are bound to what they mean", async () => {
    const found = await run<{ name: string; config: string[]; isBound: boolean }>(
      url,
      `SELECT proname AS name, proconfig AS config, prosqlbody IS NOT NULL AS "isBound" FROM pg_proc
       WHERE pronamespace = 'coppice'::regnamespace ORDER BY 1`,
    );
    expect(found.map(({ name }) => name)).toEqual(Object.keys(CALLS).sort());
    for (const { name, config, isBound } of found) {
      expect({ name, config, isBound }).toEqual({ name, config: ["search_path=pg_catalog, pg_temp"], isBound: true });
    }
  });

  test.each(["pg_temp", "shadows"] as const)("run nothing that a writer has in %s", async (schema) => {
    expect(await notesOf(url, schema, KINDS)).toEqual([]);
  });

  test("of a hub that is older are mended by an upgrade", async () => {
    const hub = await openedConnection(url);
    await run(
      url,
      `CREATE OR REPLACE FUNCTION coppice.delete_clusters(of_place bigint, of_session bigint, roots bigint[]) RETURNS void
       LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
       'DELETE FROM coppice.clusters WHERE place = of_place AND session_no = of_session AND root = ANY (roots)
          AND pg_has_role(session_user, team::name, ''member'');
        DELETE FROM coppice.messages WHERE place = of_place AND pg_has_role(session_user, team::name, ''member'')'`,
    );
    const before = await notesOf(url, "pg_temp", ["type"]);
    expect(before.join()).toMatch(/shadow type name of (?!shadow_writer)/);
    await upgradeHub(hub);
    await run(url, `GRANT TEMPORARY ON DATABASE ${new URL(url).pathname.slice(1)} TO PUBLIC`);
    expect(await notesOf(url, "pg_temp", ["type"])).toEqual([]);
  });
});

test("nobody makes temporary objects in the database of a hub, if its administrator may forbid it", async () => {
  const url = await emptyDatabase();
  const hub = await openedConnection(url);
  expect(await initHub(hub)).toMatchObject({ hasTemp: false });
  const role = `plain_${process.pid}`;
  await run(url, `CREATE ROLE ${role} LOGIN`);
  try {
    const plain = await connected(asRole(url, role));
    await expect(plain.query("CREATE TEMPORARY TABLE t (n integer)")).rejects.toThrow(/permission denied/);
    await run(url, `GRANT TEMPORARY ON DATABASE ${new URL(url).pathname.slice(1)} TO PUBLIC`);
    await plain.query("CREATE TEMPORARY TABLE t (n integer)");
    await plain.end();
    await upgradeHub(hub);
    const again = await connected(asRole(url, role));
    await expect(again.query("CREATE TEMPORARY TABLE t (n integer)")).rejects.toThrow(/permission denied/);
    await again.end();
  } finally {
    await run(url, `DROP ROLE ${role}`);
  }
});

test("an administrator who may not forbid temporary objects is told so", async () => {
  const url = await emptyDatabase();
  const role = `guest_admin_${process.pid}`;
  const database = new URL(url).pathname.slice(1);
  await run(url, `CREATE ROLE ${role} LOGIN CREATEROLE; GRANT CREATE ON DATABASE ${database} TO ${role}`);
  try {
    const hub = await HubConnection.to(asRole(url, role));
    expect(await initHub(hub).finally(() => hub.close())).toMatchObject({ hasTemp: true });
  } finally {
    await run(url, `DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  }
});
