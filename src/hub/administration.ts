import type { PoolClient, QueryConfig } from "pg";
import { StoreError } from "../core/errors.ts";
import { checkVersion, codeOf, type HubConnection, hasTables, versionOf } from "./connection.ts";
import { FUNCTIONS } from "./functions.ts";
import { MIGRATIONS } from "./migrations.ts";
import { addCentroids, hasCentroids } from "./pgvector.ts";

/** The roles of all teams. Members of `coppice_writer` may also read. */
const RIGHTS = { read: "coppice_reader", write: "coppice_writer" } as const;

/** The number is any that others do not use. */
const LOCK = "SELECT pg_advisory_xact_lock(7263814905)";

export interface HubUpgrade {
  /** Null before `init`. */
  versionBefore: number | null;
  version: number;
  /** True if the database has pgvector, so that searches compare messages by meaning. */
  hasPgvector: boolean;
  /** True if everybody may still make temporary objects in the database, because the caller may not forbid it. */
  hasTemp: boolean;
}

/** Makes the tables of the hub in a database, or brings them to this version. Needs a role that may create roles and schemas. */
export function initHub(hub: HubConnection): Promise<HubUpgrade> {
  return hub.administer(async (client) => {
    await awaitOthers(client);
    const isNew = !(await hasTables(client));
    if (isNew) {
      for (const role of Object.values(RIGHTS)) await createRole(client, role);
      await client.query(`CREATE SCHEMA coppice;
        CREATE TABLE coppice.hub (version integer NOT NULL, client_min integer NOT NULL, id_block bigint NOT NULL DEFAULT 0);
        INSERT INTO coppice.hub VALUES (0, 0)`);
    }
    const upgraded = await migrate(hub, client);
    return isNew ? { ...upgraded, versionBefore: null } : upgraded;
  });
}

/** Brings the tables of the hub to this version. @throws {StoreError} `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`. */
export function upgradeHub(hub: HubConnection): Promise<HubUpgrade> {
  return hub.administer(async (client) => {
    await awaitOthers(client);
    if (!(await hasTables(client))) checkVersion(hub.name, undefined);
    return await migrate(hub, client);
  });
}

/** Waits for other administrators, but goes on after a while, because everybody can hold this lock. */
async function awaitOthers(client: PoolClient): Promise<void> {
  const isLate = (error: unknown): boolean => codeOf(error) === "55P03";
  await unless(client, isLate, LOCK);
}

/** An upgrade makes indexes of large tables. In milliseconds: the longest time of a timer. */
const MIGRATION_MS_MAX = 2 ** 31 - 1;

async function migrate(hub: HubConnection, client: PoolClient): Promise<HubUpgrade> {
  const known = MIGRATIONS.length;
  // It waits for the transactions of all clients and for other upgrades, and they then see the new version.
  await client.query("LOCK TABLE coppice.hub IN ACCESS EXCLUSIVE MODE");
  const { version } = (await versionOf(client))!;
  if (version > known) throw new StoreError("FORMAT_UNSUPPORTED", { hub: hub.name, version, known });
  await client.query("SET LOCAL statement_timeout = 0");
  for (const { sql } of MIGRATIONS.slice(version)) {
    await client.query({ text: sql, query_timeout: MIGRATION_MS_MAX } as QueryConfig);
  }
  const clientMin = MIGRATIONS.at(-1)!.clientMin;
  await client.query("UPDATE coppice.hub SET version = $1, client_min = $2", [known, clientMin]);
  await client.query(FUNCTIONS);
  const hasTemp = await keepsTemp(client);
  const hasPgvector = (await hasCentroids(client)) || (await addCentroids(client));
  return { versionBefore: version, version: known, hasPgvector, hasTemp };
}

/** The hub needs no temporary objects, and a caller of a function could make some that have the names of what it uses. */
async function keepsTemp(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ database: string }>("SELECT quote_ident(current_database()) AS database");
  const isRefused = (error: unknown): boolean => codeOf(error) === "42501";
  await unless(client, isRefused, `REVOKE TEMPORARY ON DATABASE ${rows[0]!.database} FROM PUBLIC`);
  const sql = "SELECT has_database_privilege('public', current_database(), 'TEMPORARY') AS may";
  return (await client.query<{ may: boolean }>(sql)).rows[0]!.may;
}

/**
 * Lets a role of the database read or write the sessions of a team, which is created if it is new. With `read`, the role can no
 * longer write in any of its teams.
 *
 * @throws {StoreError} `HUB_REFUSED` if the role is missing, or if the caller has no right to grant this, or to revoke writing.
 */
export function grantTeam(hub: HubConnection, role: string, team: string, right: keyof typeof RIGHTS): Promise<void> {
  return hub.administer(async (client) => {
    await awaitOthers(client);
    checkVersion(hub.name, await versionOf(client));
    const { rowCount } = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [role]);
    if (rowCount === 0) {
      const reason = `it has no role "${role}": an administrator of the database makes it with CREATE ROLE`;
      throw new StoreError("HUB_REFUSED", { hub: hub.name, reason });
    }
    const teamRole = teamRoleOf(team);
    await createRole(client, teamRole);
    for (const granted of [teamRole, RIGHTS[right]]) {
      await unlessThere(client, `GRANT ${client.escapeIdentifier(granted)} TO ${client.escapeIdentifier(role)}`);
    }
    if (right === "read") await revokeWriting(hub, client, role);
  });
}

async function revokeWriting(hub: HubConnection, client: PoolClient, role: string): Promise<void> {
  await client.query(`REVOKE ${RIGHTS.write} FROM ${client.escapeIdentifier(role)}`);
  // Somebody else may have granted it, or another role may have it. A superuser may do everything.
  const sql = "SELECT pg_has_role($1, $2, 'member') AND NOT rolsuper AS may FROM pg_roles WHERE rolname = $1";
  const { rows } = await client.query<{ may: boolean }>(sql, [role, RIGHTS.write]);
  if (!rows[0]!.may) return;
  const reason = `"${role}" may still write, because another administrator or another role gives it ${RIGHTS.write}`;
  throw new StoreError("HUB_REFUSED", { hub: hub.name, reason });
}

/** The server can subtract this many days from today. */
export const RETENTION_DAYS_MAX = 99_999;

/**
 * Sets how many days the hub keeps sessions of a project after their last push.
 *
 * @param team  The team of the project; it must be named if several teams have a project of this name.
 * @throws {StoreError} `OPTION_INVALID`, `HUB_REFUSED`.
 */
export async function retainProject(hub: HubConnection, project: string, days: number, team?: string): Promise<void> {
  if (!Number.isSafeInteger(days) || days < 1 || days > RETENTION_DAYS_MAX) {
    const expected = `a whole number from 1 to ${RETENTION_DAYS_MAX}`;
    throw new StoreError("OPTION_INVALID", { option: "days", expected, actual: days });
  }
  await hub.administer(async (client) => {
    checkVersion(hub.name, await versionOf(client));
    const values = [project, days, team === undefined ? null : teamRoleOf(team)];
    const { rowCount } = await client.query(
      "UPDATE coppice.places SET retention_days = $2 WHERE project = $1 AND ($3::text IS NULL OR team = $3)",
      values,
    );
    if (rowCount === 1) return;
    // The transaction is rolled back.
    const reason =
      rowCount === 0 ? `it has no project "${project}"` : `several teams have a project "${project}": name the team`;
    throw new StoreError("HUB_REFUSED", { hub: hub.name, reason });
  });
}

export const TEAM_PREFIX = "coppice_team_";

/** Names of roles have at most 63 bytes. @throws {StoreError} `OPTION_INVALID`. */
export function teamRoleOf(team: string): string {
  if (/^[\w-]{1,40}$/.test(team)) return TEAM_PREFIX + team;
  const expected = "1 to 40 letters, digits, hyphens and underscores";
  throw new StoreError("OPTION_INVALID", { option: "team", expected, actual: team });
}

async function createRole(client: PoolClient, role: string): Promise<void> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [role]);
  if (rowCount === 0) await unlessThere(client, `CREATE ROLE ${client.escapeIdentifier(role)} NOLOGIN`);
}

/**
 * Runs a CREATE unless the object exists. Roles belong to the server and the lock to this database, so somebody may create the same
 * role for another database at the same time.
 */
async function unlessThere(client: PoolClient, sql: string): Promise<void> {
  await unless(client, (error) => /^(23505|42710)$/.test(codeOf(error)), sql);
}

/** Runs SQL. If it fails in a way that is no harm, it is as if it had not been run. */
async function unless(client: PoolClient, isHarmless: (error: unknown) => boolean, sql: string): Promise<void> {
  await client.query("SAVEPOINT step");
  try {
    await client.query(sql);
  } catch (error) {
    if (!isHarmless(error)) throw error;
    await client.query("ROLLBACK TO SAVEPOINT step");
  }
}
