import { Client, type QueryResultRow } from "pg";
import { afterAll, expect, inject, onTestFinished } from "vitest";
import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";

let databaseCount = 0;

/** Makes an empty database, and returns the URL of its superuser. It goes when the test, or else the file, is over. */
export async function testDatabase(): Promise<string> {
  const server = inject("hubServer");
  databaseCount += 1;
  const name = `coppice_test_${process.pid}_${databaseCount}`;
  await run(server, `CREATE DATABASE ${name}`);
  const drop = (): Promise<unknown> => run(server, `DROP DATABASE ${name} WITH (FORCE)`);
  atEnd(drop);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * A database with the tables of the hub, and the URL of a superuser of its own who is in a team. Roles are those of all databases, so a
 * test that grants another team to its superuser must not disturb other files.
 */
export async function readyDatabase(): Promise<string> {
  const role = `owner_${process.pid}_${databaseCount + 1}`;
  const drop = (): Promise<unknown> => run(inject("hubServer"), `DROP ROLE ${role}`);
  atEnd(drop);
  const url = asRole(await testDatabase(), role);
  await run(inject("hubServer"), `CREATE ROLE ${role} LOGIN SUPERUSER`);
  const hub = await HubConnection.to(url);
  await initHub(hub);
  await grantTeam(hub, role, "test", "write");
  await hub.close();
  return url;
}

/** Calls something when the test, or else the file, is over. What was given last is called first. */
function atEnd(call: () => Promise<unknown>): void {
  if (expect.getState().currentTestName === undefined) afterAll(call);
  else onTestFinished(call as () => Promise<void>);
}

/** The same database as somebody else. */
export function asRole(url: string, role: string): string {
  const other = new URL(url);
  other.username = role;
  other.password = "";
  return other.href;
}

/** A connection to a hub until the test is over. */
export async function openedHub(url: string): Promise<HubConnection> {
  const hub = await HubConnection.to(url);
  onTestFinished(() => hub.close());
  return hub;
}

/** Connects until the test is over. */
export async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Runs SQL on a connection of its own, and returns the rows. */
export async function run<Row extends QueryResultRow>(url: string, sql: string, values?: unknown[]): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** True if the server has pgvector. Where COPPICE_HUB_MUST is "vector", its tests fail and are not skipped. */
export async function hasVector(url: string): Promise<boolean> {
  if (process.env.COPPICE_HUB_MUST === "vector") return true;
  return (await run(url, "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'")).length > 0;
}
