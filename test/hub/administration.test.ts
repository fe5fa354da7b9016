import { expect, onTestFinished, vi } from "vitest";
import { grantTeam, initHub } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { VERSION } from "../../src/hub/tables.ts";
import { asRole, emptyDatabase, hubDatabase, openedConnection, readyDatabase, run, test } from "../support/hub.ts";

test("a database without tables says what to do", async () => {
  const hub = await openedConnection(await emptyDatabase());
  await expect(hub.transaction(async () => {})).rejects.toMatchObject({
    code: "HUB_NOT_READY",
    hint: expect.stringContaining("coppice hub init"),
  });
  await expect(grantTeam(hub, "postgres", "web", "write")).rejects.toMatchObject({ code: "HUB_NOT_READY" });
});

test("of administrators at once, one makes the tables", async () => {
  const url = await emptyDatabase();
  const hubs = await Promise.all([1, 2, 3].map(() => openedConnection(url)));
  const results = await Promise.all(hubs.map((hub) => initHub(hub, "web")));
  expect(results.map(({ tables }) => tables).sort()).toEqual([false, false, true]);
});

test("an administrator whose connection ends leaves nothing behind", async () => {
  const url = await emptyDatabase();
  const hub = await openedConnection(url);
  await run(url, "CREATE SCHEMA coppice_web"); // so that `init` fails after it has made roles
  await expect(initHub(hub, "web")).rejects.toMatchObject({ code: "HUB_REFUSED" });
  await run(url, "DROP SCHEMA coppice_web");
  expect(await initHub(hub, "web")).toEqual({ tables: true, words: false });
});

test.each([
  { what: "the version after", version: VERSION + 1 },
  { what: "the version before", version: VERSION - 1 },
  { what: "the version after, which admits only later clients", version: VERSION + 1, min: VERSION + 1, old: "client" },
  { what: "its own version, which admits only later clients", version: VERSION, min: VERSION + 1, old: "client" },
  { what: "a much later version", version: VERSION + 2, old: "client" },
  { what: "a much earlier version", version: VERSION - 2, old: "hub" },
])("a client meets a hub of $what, and works with it or says which side to upgrade", async ({ version, min, old }) => {
  const clientMin = min ?? 1;
  const url = await hubDatabase();
  const hub = await openedConnection(url);
  expect(await hub.transaction(async () => "used")).toBe("used");
  await run(url, `UPDATE coppice_test.hub SET version = ${version}, client_min = ${clientMin}`);
  const work = vi.fn(async () => "used");
  const later = await openedConnection(url);
  if (old === undefined) {
    for (const one of [hub, later]) expect(await one.transaction(work)).toBe("used");
    await later.try();
    return;
  }
  const hint = expect.stringContaining(old === "client" ? "newer Coppice here" : "administrator of the hub");
  const refused = { code: "FORMAT_UNSUPPORTED", details: { version, clientMin, known: VERSION, old }, hint };
  for (const one of [hub, later]) await expect(one.transaction(work)).rejects.toMatchObject(refused);
  await expect(later.try()).rejects.toMatchObject(refused);
  expect(work).not.toHaveBeenCalled();
});

test("tables that were made before hubs noted which clients they admit are used as before", async () => {
  const url = await hubDatabase();
  await run(url, "ALTER TABLE coppice_test.hub DROP COLUMN client_min");
  expect(await (await openedConnection(url)).transaction(async () => "used")).toBe("used");
});

test("a role that is granted reading may write no longer", async () => {
  const url = await hubDatabase();
  const hub = await openedConnection(url);
  const [role, other] = [`demoted_${process.pid}`, `other_writers_${process.pid}`];
  for (const name of [role, other]) await run(url, `CREATE ROLE ${name} LOGIN`);
  const isWriter = async () => {
    return (await run(url, "SELECT pg_has_role($1, 'coppice_write_demoted', 'member') AS may", [role]))[0]!.may;
  };
  try {
    await initHub(hub, "demoted");
    await grantTeam(hub, role, "demoted", "write");
    expect(await isWriter()).toBe(true);
    await grantTeam(hub, role, "demoted", "read");
    expect(await isWriter()).toBe(false);
    const reader = await openedConnection(asRole(url, role));
    const insert = "INSERT INTO coppice_demoted.log (session_no, n, body) VALUES (1, 0, '')";
    await expect(reader.transaction((client) => client.query(insert))).rejects.toMatchObject({ code: "HUB_REFUSED" });
    await run(url, `GRANT coppice_write_demoted TO ${other}; GRANT ${other} TO ${role}`);
    await expect(grantTeam(hub, role, "demoted", "read")).rejects.toMatchObject({ code: "HUB_REFUSED" });
  } finally {
    await hub.administer((client) => client.query(`DROP ROLE ${role}, ${other}`));
  }
});

test("errors quote no password and no content", async () => {
  const url = await hubDatabase();
  const hub = await openedConnection(url);
  const failing = hub.transaction((client) => client.query("SELECT 'a secret text'::bigint"));
  const shown = await failing.catch((error: Error) => `${error.message} ${JSON.stringify(error)} ${error.cause}`);
  expect(shown).toContain("22P02");
  expect(shown).not.toContain("secret");

  vi.stubEnv("PGPASSWORD", "a-secret-word");
  onTestFinished(() => void vi.unstubAllEnvs());
  const refused = await (await openedConnection(asRole(url, "nobody_knows")))
    .transaction(async () => {})
    .catch((error: Error) => error);
  expect(refused).toMatchObject({ code: "HUB_REFUSED" });
  expect(`${refused} ${JSON.stringify(refused)}`).not.toContain("a-secret-word");
});

test("a server that is away is an error", async () => {
  const hub = await HubConnection.to("postgres://127.0.0.1:1/none");
  await expect(hub.administer(async () => {})).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
  await hub.close();
});

test("a transaction is not tried again after a minute of failures", async () => {
  const hub = await openedConnection(await readyDatabase());
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  let attempts = 0;
  const failing = hub.transaction(async () => {
    attempts += 1;
    now += 40_000;
    throw Object.assign(new Error("busy"), { code: "40001" });
  });
  await expect(failing).rejects.toMatchObject({ code: "HUB_UNREACHABLE" });
  expect(attempts).toBe(3);
});

test("a server that takes too long is said to", async () => {
  const hub = await openedConnection(await hubDatabase());
  const tooLong = { code: "HUB_UNREACHABLE", details: { reason: "it took too long" } };
  const slow = "SELECT pg_sleep(0.2)";
  const impatient = { text: slow, query_timeout: 10 };
  const unanswered = hub.administer((client) => client.query(impatient));
  await expect(unanswered).rejects.toMatchObject(tooLong);
  const ended = hub.administer((client) => client.query(`SET LOCAL statement_timeout = 10; ${slow}`));
  await expect(ended).rejects.toMatchObject(tooLong);
});

test("a machine that sleeps in a transaction does not keep its locks", async () => {
  const url = await hubDatabase();
  const hub = await openedConnection(url);
  let attemptCount = 0;
  const pid = await hub.transaction(async (client) => {
    attemptCount += 1;
    const { rows } = await client.query("SHOW idle_in_transaction_session_timeout");
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: "2min" }]);
    if (attemptCount === 1) {
      await client.query("SET LOCAL idle_in_transaction_session_timeout = 50");
      const lost = new Promise((resolve) => client.once("error", resolve));
      await lost;
    }
    return (await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]!.pid;
  });
  expect([attemptCount, pid > 0]).toEqual([2, true]);
});

test("grants name what is missing", async () => {
  const url = await hubDatabase();
  const hub = await openedConnection(url);
  await expect(grantTeam(hub, "nobody_knows", "test", "write")).rejects.toMatchObject({ code: "HUB_REFUSED" });
  await expect(grantTeam(hub, "postgres", "a team", "write")).rejects.toMatchObject({ code: "OPTION_INVALID" });
});
