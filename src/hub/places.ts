import type { PoolClient, QueryResultRow } from "pg";
import { StoreError } from "../core/errors.ts";
import { TEAM_PREFIX, teamRoleOf } from "./administration.ts";
import { checkVersion, HubConnection, versionOf } from "./connection.ts";

/** A project of a team on the hub. */
export interface HubPlace {
  place: number;
  team: string;
}

export interface SessionKey extends HubPlace {
  sessionNo: number;
}

/** A session, without its team. */
export type SessionAt = Pick<SessionKey, "place" | "sessionNo">;

/**
 * Reads the rows that a session has in a table.
 *
 * @param more  SQL after the conditions. Its values begin with $3.
 */
export async function rowsOfSession<Row extends QueryResultRow>(
  client: PoolClient,
  { place, sessionNo }: SessionAt,
  table: string,
  columns: string,
  more = "",
  ...values: unknown[]
): Promise<Row[]> {
  const sql = `SELECT ${columns} FROM coppice.${table} WHERE place = $1 AND session_no = $2 ${more}`;
  return (await client.query<Row>(sql, [place, sessionNo, ...values])).rows;
}

/** Changes columns of a session's row. @param others  Further changes, as SQL. */
export async function updateSession(
  client: PoolClient,
  { place, sessionNo }: SessionAt,
  values: Record<string, unknown>,
  ...others: string[]
): Promise<void> {
  const changes = [...Object.keys(values).map((column, index) => `${column} = $${index + 3}`), ...others];
  await client.query(`UPDATE coppice.sessions SET ${changes.join(", ")} WHERE place = $1 AND session_no = $2`, [
    ...[place, sessionNo, ...Object.values(values)],
  ]);
}

/** The most parameters of a statement is 65,535. */
const PARAMETERS_MAX = 60_000;
/** The most bytes that a statement sends, apart from a single row that is longer. */
const STATEMENT_BYTES_MAX = 4_000_000;

/**
 * Finds a project in one of the caller's teams. Sessions without a project belong to one with the name "".
 *
 * @param team  It can be left out if the caller is in one team. The project of another team is never taken.
 * @throws {StoreError} `HUB_REFUSED` if it is not clear which team's it is.
 */
export async function findPlace(
  hub: HubConnection,
  client: PoolClient,
  project: string,
  team: string | undefined,
): Promise<HubPlace | undefined> {
  return placeIn(client, project, await ownTeam(hub, client, team));
}

/** Like `findPlace`, but creates a project that the hub does not have yet. */
export async function placeOfProject(
  hub: HubConnection,
  client: PoolClient,
  project: string,
  team: string | undefined,
): Promise<HubPlace> {
  const own = await ownTeam(hub, client, team);
  const known = await placeIn(client, project, own);
  if (known !== undefined) return known;
  const values = [own, project];
  await client.query("INSERT INTO coppice.places (team, project) VALUES ($1, $2) ON CONFLICT DO NOTHING", values);
  return (await placeIn(client, project, own))!;
}

async function placeIn(client: PoolClient, project: string, team: string): Promise<HubPlace | undefined> {
  const sql = "SELECT place, team FROM coppice.places WHERE project = $1 AND team = $2";
  return (await client.query<HubPlace>(sql, [project, team])).rows[0];
}

/**
 * Connects once, and finds out whether the caller can use the hub. It writes nothing.
 *
 * @throws {StoreError} `PACKAGE_MISSING`, `HUB_UNREACHABLE`, `HUB_REFUSED`, `HUB_UNSAFE`, `HUB_NOT_READY`, `FORMAT_UNSUPPORTED`.
 */
export async function tryHub(url: string, team: string | undefined): Promise<void> {
  const hub = await HubConnection.to(url);
  try {
    await hub.administer(async (client) => {
      checkVersion(hub.name, await versionOf(client));
      await ownTeam(hub, client, team);
    });
  } finally {
    await hub.close();
  }
}

/** Returns the role of the team. @throws {StoreError} `HUB_REFUSED`, `OPTION_INVALID`. */
async function ownTeam(hub: HubConnection, client: PoolClient, team: string | undefined): Promise<string> {
  const { rows } = await client.query<{ team: string }>(
    // A superuser counts as a member of every role, and is in those teams that were granted to it.
    `SELECT rolname AS team FROM pg_roles team
     WHERE starts_with(rolname, $1) AND pg_has_role(rolname, 'member') AND ($2::text IS NULL OR rolname = $2)
       AND EXISTS (SELECT 1 FROM pg_roles own WHERE own.rolname = current_user AND (NOT own.rolsuper OR EXISTS (
         SELECT 1 FROM pg_auth_members m WHERE m.roleid = team.oid AND m.member = own.oid)))`,
    [TEAM_PREFIX, team === undefined ? null : teamRoleOf(team)],
  );
  if (rows.length === 1) return rows[0]!.team;
  const many = "you are in several teams: name the team";
  const none = team === undefined ? "you are in no team" : `you are not in the team "${team}"`;
  throw new StoreError("HUB_REFUSED", { hub: hub.name, reason: rows.length > 1 ? many : none });
}

/**
 * Inserts rows as VALUES: a distributed Postgres turns other forms into a copy, which policies forbid.
 *
 * @param conflict  The ON CONFLICT clause. Without it, rows that exist are an error.
 */
export async function insertRows(
  client: PoolClient,
  table: string,
  rows: readonly Record<string, unknown>[],
  conflict = "",
): Promise<void> {
  if (rows.length === 0) return;
  const columns = Object.keys(rows[0]!);
  for (let from = 0; from < rows.length; ) {
    const values: unknown[] = [];
    let byteLength = 0;
    let end = from;
    while (
      end < rows.length &&
      values.length + columns.length <= PARAMETERS_MAX &&
      (end === from || byteLength < STATEMENT_BYTES_MAX)
    ) {
      const row = rows[end]!;
      for (const column of columns) {
        const value = row[column];
        values.push(value);
        byteLength += Buffer.isBuffer(value) || typeof value === "string" ? value.length : 0;
      }
      end += 1;
    }
    const tuples = Array.from({ length: end - from }, (_, index) => {
      const first = index * columns.length;
      return `(${columns.map((_, offset) => `$${first + offset + 1}`).join(",")})`;
    });
    await client.query(
      `INSERT INTO coppice.${table} (${columns.join(",")}) VALUES ${tuples.join(",")} ${conflict}`,
      values,
    );
    from = end;
  }
}
