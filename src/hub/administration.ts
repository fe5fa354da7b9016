import { randomBytes } from "node:crypto";
import type { PoolClient } from "pg";
import { StoreError } from "../core/errors.ts";
import { codeOf, type HubConnection } from "./connection.ts";
import { fillWords, wordsTable } from "./everywhere.ts";
import { type Roles, rolesOf, schemaOf, tablesOf } from "./tables.ts";

/** The key of the lock that lets only one administrator make the tables. It can be any number that others do not use. */
const LOCK = "SELECT pg_advisory_xact_lock(7263814905)";

export interface HubMade {
  tables: boolean;
  words: boolean;
}

/**
 * Makes the tables of a team in a database, unless it has them. Needs a role that may create roles and schemas.
 *
 * @param hub  With the team, if `words` is set.
 * @param words  True to also make the word index, of everything that was pushed before, too.
 */
export async function initHub(hub: HubConnection, team: string, words = false): Promise<HubMade> {
  const schema = schemaOf(team);
  const made = await hub.administer(async (client) => {
    const quoted = (name: string): string => client.escapeIdentifier(name);
    const namesOf = ({ read, write }: Roles) => ({ schema: quoted(schema), read: quoted(read), write: quoted(write) });
    const has = async (table: string): Promise<boolean> => {
      const sql = "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = $2";
      return (await client.query(sql, [schema, table])).rowCount === 1;
    };
    await client.query(LOCK);
    const hasTables = await has("hub");
    if (!hasTables) {
      const roles = await createRoles(client, team);
      const literals = { read: client.escapeLiteral(roles.read), write: client.escapeLiteral(roles.write) };
      await client.query(tablesOf(namesOf(roles), literals));
    }
    const hasWords = await has("words");
    if (words && !hasWords) await client.query(wordsTable(namesOf(await grantedRoles(client, schema))));
    return { tables: !hasTables, words: words && !hasWords };
  });
  if (words) await fillWords(hub);
  return made;
}

/**
 * Lets a role of the database read or write the sessions of a team. With `read`, the role can no longer write.
 *
 * @throws {StoreError} `HUB_NOT_READY` if the team has no tables; `HUB_REFUSED` if the role is missing, or if the caller has no right to
 *   grant this, or to revoke writing.
 */
export async function grantTeam(
  hub: HubConnection,
  role: string,
  team: string,
  right: "read" | "write",
): Promise<void> {
  const schema = schemaOf(team);
  await hub.administer(async (client) => {
    const { rowCount } = await client.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [schema]);
    if (rowCount === 0)
      throw new StoreError("HUB_NOT_READY", { hub: hub.name, command: `coppice hub init --team ${team}` });
    const roles = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [role]);
    if (roles.rowCount === 0) {
      const reason = `it has no role "${role}": an administrator of the database makes it with CREATE ROLE`;
      throw new StoreError("HUB_REFUSED", { hub: hub.name, reason });
    }
    const granted = await grantedRoles(client, schema);
    await unlessRaced(client, `GRANT ${client.escapeIdentifier(granted[right])} TO ${client.escapeIdentifier(role)}`);
    if (right === "read") await revokeWriting(hub, client, role, granted.write);
  });
}

async function revokeWriting(hub: HubConnection, client: PoolClient, role: string, writer: string): Promise<void> {
  await client.query(`REVOKE ${client.escapeIdentifier(writer)} FROM ${client.escapeIdentifier(role)}`);
  // Somebody else may have granted it, or another role may have it. A superuser may do everything.
  const sql = "SELECT pg_has_role($1, $2, 'member') AND NOT rolsuper AS may FROM pg_roles WHERE rolname = $1";
  const { rows } = await client.query<{ may: boolean }>(sql, [role, writer]);
  if (!rows[0]!.may) return;
  const reason = `"${role}" may still write, because another administrator or another role gives it ${writer}`;
  throw new StoreError("HUB_REFUSED", { hub: hub.name, reason });
}

/** Makes the roles of a team. If the server has such roles, others are in them, who must not be let in: then they get another name. */
async function createRoles(client: PoolClient, team: string): Promise<Roles> {
  for (let more = ""; ; more = `_${randomBytes(3).toString("hex")}`) {
    const roles = rolesOf(team, more);
    const { rowCount } = await client.query("SELECT 1 FROM pg_roles WHERE rolname IN ($1, $2)", [
      roles.read,
      roles.write,
    ]);
    if (rowCount !== 0) continue;
    const sql = [roles.read, roles.write]
      .map((role) => `CREATE ROLE ${client.escapeIdentifier(role)} NOLOGIN`)
      .join("; ");
    if (await unlessRaced(client, sql)) return roles;
  }
}

async function grantedRoles(client: PoolClient, schema: string): Promise<Roles> {
  const sql = `SELECT reader AS read, writer AS write FROM ${client.escapeIdentifier(schema)}.hub`;
  return (await client.query<Roles>(sql)).rows[0]!;
}

/**
 * Runs a CREATE or GRANT unless somebody does the same for another database at the same time, because roles belong to the server.
 *
 * @returns false if somebody does.
 */
async function unlessRaced(client: PoolClient, sql: string): Promise<boolean> {
  await client.query("SAVEPOINT step");
  try {
    await client.query(sql);
    return true;
  } catch (error) {
    if (!/^(23505|42710|XX000)$/.test(codeOf(error))) throw error;
    await client.query("ROLLBACK TO SAVEPOINT step");
    return false;
  }
}
