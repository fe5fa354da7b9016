import { join } from "node:path";
import { Client, type QueryResultRow } from "pg";
import { afterAll, test as anyTest, inject, onTestFinished, TestRunner, vi } from "vitest";
import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { type Hub, openHub } from "../../src/hub/index.ts";
import type { MessageInput, OpenOptions, Store } from "../../src/index.ts";
import { openedStore, temporaryFolder, temporaryStore } from "./temporary-store.ts";

const server = inject("hubServer");

/** A test that needs a server. */
export const test = server === undefined ? anyTest.skip : anyTest;

let databaseCount = 0;

/**
 * Makes a database, and returns the URL of its superuser. It goes when the test, or else the file, is over. Without a server, the URL
 * is empty.
 */
async function newDatabase(template: string): Promise<string> {
  if (server === undefined) return "";
  databaseCount += 1;
  const name = `coppice_test_${process.pid}_${databaseCount}`;
  await run(server.url, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  atEnd(() => run(server.url, `DROP DATABASE ${name} WITH (FORCE)`));
  return new URL(name, server.url).href;
}

export function emptyDatabase(): Promise<string> {
  return newDatabase("template1");
}

/** A database with the tables of the team "test". */
export async function hubDatabase(): Promise<string> {
  const url = await newDatabase(server?.template ?? "");
  if (url !== "") await run(url, "UPDATE coppice_test.hub SET id = gen_random_uuid()"); // it is another hub than its template
  return url;
}

/**
 * The same, of a superuser of its own who is in a team. Roles are those of all databases, so a test that grants another team to its
 * superuser must not disturb other files.
 */
export async function readyDatabase(): Promise<string> {
  const role = `owner_${process.pid}_${databaseCount + 1}`;
  onTestFinished(() => run(server!.url, `DROP ROLE ${role}`).then(() => {}));
  const url = await hubDatabase();
  await run(url, `CREATE ROLE ${role} LOGIN SUPERUSER`);
  return grantedTo(url, role, "test", "write");
}

/** Grants a team to a role. Returns the URL of the role. */
export async function grantedTo(url: string, role: string, team: string, right: "read" | "write"): Promise<string> {
  const hub = await HubConnection.to(url);
  await initHub(hub, team);
  await grantTeam(hub, role, team, right);
  await hub.close();
  return asRole(url, role);
}

/** Calls something when the test, or else the file, is over. What was given last is called first. */
function atEnd(call: () => Promise<unknown>): void {
  if (TestRunner.getCurrentTest() === undefined) afterAll(call);
  else onTestFinished(call as () => Promise<void>);
}

/** The same database as somebody else. */
export function asRole(url: string, role: string): string {
  const other = new URL(url);
  other.username = role;
  other.password = "";
  return other.href;
}

/** A hub until the test is over. */
export async function openedHub(url: string): Promise<Hub> {
  const hub = await openHub(url);
  onTestFinished(() => hub.close());
  return hub;
}

/** A hub of its own, opened by a plain member of the team, and two stores that share sessions through it. */
export async function hubWithStores(
  options: OpenOptions = {},
): Promise<{ url: string; member: string; hub: Hub; home: Store; away: Store }> {
  const url = await readyDatabase();
  const member = `member_${process.pid}_${databaseCount}`;
  onTestFinished(() => run(server!.url, `DROP ROLE ${member}`).then(() => {}));
  await run(url, `CREATE ROLE ${member} LOGIN`);
  const hub = await openedHub(await grantedTo(url, member, "test", "write"));
  return { url, member, hub, home: temporaryStore(options), away: temporaryStore(options) };
}

/** A hub, and a store whose file is copied. */
export async function copiedStore(): Promise<{ url: string; hub: Hub; store: Store; copy: () => Promise<Store> }> {
  const url = await readyDatabase();
  const folder = temporaryFolder();
  const store = openedStore(join(folder, "agent.db"));
  let count = 0;
  const copy = async (): Promise<Store> => {
    count += 1;
    const path = join(folder, `copy-${count}.db`);
    await store.backup(path);
    return openedStore(path);
  };
  return { url, hub: await openedHub(url), store, copy };
}

/** What administrators use, until the test is over. */
export async function openedConnection(url: string): Promise<HubConnection> {
  const hub = await HubConnection.to(url);
  onTestFinished(() => hub.close());
  return hub;
}

/** What a database holds now, in another one with the same numbers inside, as a restored backup of its files. */
export async function snapshotOf(url: string): Promise<string> {
  const name = new URL(url).pathname.slice(1);
  await run(server!.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
  const snapshot = await newDatabase(name);
  const other = new URL(url);
  other.pathname = new URL(snapshot).pathname;
  return other.href;
}

/** Calls something with the result of each transaction, until the test is over. If it throws, the answer is lost. */
export function afterTransactions(then: (result: unknown) => unknown): void {
  const transaction = HubConnection.prototype.transaction;
  vi.spyOn(HubConnection.prototype, "transaction").mockImplementation(async function (
    this: HubConnection,
    work,
    signal,
  ) {
    const result = await transaction.call(this, work, signal);
    await then(result);
    return result;
  } as typeof transaction);
  onTestFinished(() => void vi.restoreAllMocks());
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

/** What a session says: its messages, entries and head, without the numbers of its store. */
export function saidIn(store: Store, id: string): unknown {
  const session = store.resume(id);
  const messages = session.messages().map(({ role, parts, name, externalId, metadata, createdAtMs, pinned, text }) => {
    return { role, parts, name, externalId, metadata, createdAtMs, pinned, text };
  });
  const entries = session.entries.list().map(({ value, id, createdAtMs }) => ({ value, id, createdAtMs }));
  return { title: session.info().title, messages, entries };
}

/** Messages that begin with somebody's name. */
export function talkOf(count: number, whose = "said"): MessageInput[] {
  return Array.from({ length: count }, (_, index) => ({
    role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: `${whose} ${index}: the deploy of region ${index % 7} failed in src/harbor-${index % 11}.ts`,
  }));
}
