import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { hubAddressOf } from "../../src/hub/address.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import { openHub } from "../../src/hub/index.ts";
import { addRemote } from "../../src/hub/remote.ts";
import { FakePostgres } from "../support/fake-postgres.ts";
import { asRole, hubDatabase, test as testOnServer } from "../support/hub.ts";
import { HUB_CERTIFICATE, HUB_KEY } from "../support/postgres.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const SECRET = "a-secret-word";
const TLS = { cert: readFileSync(HUB_CERTIFICATE, "utf8"), key: readFileSync(HUB_KEY, "utf8") };
/** An address of this machine that does not say so. It is in the certificate, and the names of loopback are not. */
const ELSEWHERE = "0.0.0.0";

/** A server that began in this process, where COPPICE_TEST_HUB does not name another. */
const testOnOwnServer = process.env.COPPICE_TEST_HUB ? test.skip : testOnServer;

beforeEach(() => vi.stubEnv("PGPASSWORD", SECRET));
afterEach(() => vi.unstubAllEnvs());

async function fake(...args: ConstructorParameters<typeof FakePostgres>) {
  const server = new FakePostgres(...args);
  onTestFinished(() => server.close());
  return { server, port: await server.listen() };
}

function warnings(): string[] {
  const texts: string[] = [];
  const spy = vi.spyOn(process, "emitWarning").mockImplementation((text) => void texts.push(String(text)));
  onTestFinished(() => spy.mockRestore());
  return texts;
}

describe("a server that asks for the password", () => {
  const ASKED = "password";
  const cases = (["clear", "md5"] as const).flatMap((method) => [
    { method, query: "", host: ELSEWHERE, reason: "no TLS" },
    { method, query: "?sslmode=require", host: ELSEWHERE, reason: "no TLS" },
    { method, query: "?sslmode=disable", host: ELSEWHERE, reason: ASKED },
    { method, query: "", host: "127.0.0.1", reason: ASKED },
    { method, query: "", host: "localhost", reason: ASKED },
    { method, query: "?sslmode=verify-full", host: "127.0.0.1", reason: "no TLS" },
  ]);

  test.each(cases)("$method $host $query: it never gets it without TLS", async ({ method, query, host, reason }) => {
    warnings();
    const { server, port } = await fake(method);
    const refused = await openHub(`postgres://ada@${host}:${port}/agents${query}`).catch((error: Error) => error);
    expect(refused).toMatchObject({ code: "HUB_UNSAFE", details: { reason } });
    expect(`${refused} ${JSON.stringify(refused)}`).not.toContain(SECRET);
    expect(server.hasAsked).toBe(reason === ASKED);
    expect(server.received).not.toContain(SECRET);
    expect(server.received).not.toMatch(/md5[0-9a-f]{32}/);
  });

  test("neither from .pgpass", async () => {
    vi.stubEnv("PGPASSWORD", undefined);
    const file = join(scratchFolder(), "pgpass");
    writeFileSync(file, `*:*:*:*:${SECRET}\n`);
    chmodSync(file, 0o600);
    vi.stubEnv("PGPASSFILE", file);
    const { server, port } = await fake("clear");
    await expect(openHub(`postgres://ada@127.0.0.1:${port}/agents`)).rejects.toMatchObject({
      details: { reason: ASKED },
    });
    expect([server.hasAsked, server.received.includes(SECRET)]).toEqual([true, false]);
  });

  test("neither with a certificate that nobody vouches for, but with one that the URL names", async () => {
    const { server, port } = await fake("clear", TLS);
    const url = `postgres://ada@${ELSEWHERE}:${port}/agents`;
    await expect(openHub(url)).rejects.toMatchObject({ details: { reason: "untrusted" } });
    expect(server.received).toBe("");
    const hub = await HubConnection.to(`${url}?sslrootcert=${HUB_CERTIFICATE}`);
    await hub.administer(async () => {}).catch(() => {});
    await hub.close();
    expect(server.received).toContain(SECRET);
  });

  test("a setting of the environment weakens nothing", async () => {
    for (const [name, value] of [
      ["PGSSLMODE", "disable"],
      ["PGSSLMODE", "no-verify"],
      ["NODE_TLS_REJECT_UNAUTHORIZED", "0"],
    ] as const) {
      vi.stubEnv(name, value);
      const { server, port } = await fake("clear", TLS);
      const opening = openHub(`postgres://ada@${ELSEWHERE}:${port}/agents`);
      await expect(opening, name).rejects.toMatchObject({ details: { reason: "untrusted" } });
      expect(server.received).toBe("");
    }
  });
});

describe("a server with TLS", () => {
  async function elsewhere(options: string, host = ELSEWHERE): Promise<string> {
    const url = new URL(asRole(await hubDatabase(), "postgres"));
    url.hostname = host;
    return url.href + options;
  }

  const encrypted = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
  const isEncrypted = async (url: string): Promise<boolean> => {
    const hub = await HubConnection.to(url);
    onTestFinished(() => hub.close());
    return hub.transaction(async (client) => (await client.query<{ ssl: boolean }>(encrypted)).rows[0]!.ssl);
  };

  testOnOwnServer("is used with TLS if its certificate is trusted, and refused otherwise", async () => {
    const texts = warnings();
    expect(await isEncrypted(await elsewhere(`?sslrootcert=${HUB_CERTIFICATE}`))).toBe(true);
    await expect(isEncrypted(await elsewhere(""))).rejects.toMatchObject({
      code: "HUB_UNSAFE",
      message: expect.stringContaining("self-signed certificate"),
    });
    const otherName = await elsewhere(`?sslmode=verify-full&sslrootcert=${HUB_CERTIFICATE}`, "localhost");
    await expect(isEncrypted(otherName)).rejects.toMatchObject({ details: { reason: "other name" } });
    expect(await isEncrypted(await elsewhere("", "127.0.0.1"))).toBe(false);
    expect(texts).toEqual([]);
  });

  testOnOwnServer("is used without TLS only if the URL says so, with a warning each time", async () => {
    const texts = warnings();
    const url = await elsewhere("?sslmode=disable");
    expect([await isEncrypted(url), await isEncrypted(url)]).toEqual([false, false]);
    expect(texts).toHaveLength(2);
    expect(texts[0]).toContain("is not encrypted");
  });

  test("a file without certificates is named", async () => {
    for (const file of ["/nowhere/root.pem", HUB_KEY]) {
      const opening = openHub(`postgres://hub.example/agents?sslrootcert=${file}`);
      await expect(opening).rejects.toMatchObject({ code: "FILE_NOT_USABLE", details: { path: file } });
    }
  });
});

describe("the URL of a hub", () => {
  const REFUSED = [
    `postgres://ada:${SECRET}@hub.example/agents`,
    `postgres://ada%3A${SECRET}@hub.example/agents`,
    `postgres://ada%253A${SECRET}@hub.example/agents`,
    `postgres://:${SECRET}@hub.example/agents`,
    `postgres://hub.example/agents?password=${SECRET}`,
    `postgres://hub.example/agents?pass%77ord=${SECRET}`,
    `postgres://hub.example/agents?sslpassword=${SECRET}`,
    `postgres://hub.example/agents?${SECRET}`,
    `postgres://hub.example/agents#${SECRET}`,
    `postgres://ada:${SECRET}/x@hub.example/agents`,
    `ada:${SECRET}@hub.example/agents`,
    `${SECRET}:ada@hub.example/agents`,
    "socket:/var/run/postgresql?db=agents",
    "/var/run/postgresql agents",
    "https://hub.example/agents",
    "postgres://hub.example/agents?options=-c%20role%3Dx",
    "postgres://hub.example/agents?sslkey=/etc/shadow",
    "postgres://hub.example/agents?ssl=no-verify",
    "postgres://hub.example/agents?sslnegotiation=direct",
    "postgres://hub.example/agents?uselibpqcompat=true&sslmode=require",
    ...["prefer", "DISABLE", ""].map((mode) => `postgres://hub.example/agents?sslmode=${mode}`),
    "postgres://hub.example/agents?sslmode=verify-full&sslmode=disable",
    "postgres://hub.example/agents?sslrootcert=root.pem",
    "postgres://hub.example/agents?port=1",
    "postgres://hub.example/agents?host=evil.example",
    "postgres://hub.example/agents?host=/run/postgresql",
    "postgres:///agents",
    "postgres:///agents?host=run",
    "postgres://hub.example",
    "postgres://hub.example/",
    "postgres://hub.example/agents/more",
    "postgres://hub.example/%",
    "postgres://hub.example/a%00b",
    "postgres://one.example,two.example/agents",
    "postgres://hub%20example/agents",
    "postgres://hub.example%00.evil/agents",
    "postgres://a%0Ab@hub.example/agents",
  ];

  test.each(REFUSED)("%s is refused at both doors, and not quoted", async (url) => {
    const store = temporaryStore();
    const doors = [
      async () => addRemote(store, { url, projects: [], team: null }),
      () => openHub(url),
      () => HubConnection.to(url),
    ];
    for (const door of doors) {
      const error = await door().then(
        () => undefined,
        (reason: Error) => reason,
      );
      expect(error).toMatchObject({ code: "OPTION_INVALID", details: { option: "url" } });
      expect(`${error} ${JSON.stringify(error)} ${(error as Error).stack}`).not.toContain(SECRET);
    }
  });

  test.each([
    ["postgres://hub.example/agents", { host: "hub.example", isEncrypted: true, isExposed: false }],
    ["postgresql://ada@hub.example:5433/agents?sslmode=require", { user: "ada", port: 5433, isEncrypted: true }],
    ["postgres://ada%40firm@hub.example/my-agents_2", { user: "ada@firm", database: "my-agents_2" }],
    ["postgres://hub.example/agents?sslmode=disable", { isEncrypted: false, isExposed: true }],
    ["postgres://127.0.0.1/agents?sslmode=disable", { isEncrypted: false, isExposed: false }],
    ["postgres://localhost/agents", { isEncrypted: false, isExposed: false }],
    ["postgres://[::1]/agents", { host: "::1", isEncrypted: false }],
    ["postgres://localhost/agents?sslmode=verify-full", { isEncrypted: true }],
    ["postgres:///agents?host=/var/run/postgresql", { host: "/var/run/postgresql", isEncrypted: false }],
    ["postgres://ada@%2Fvar%2Frun%2Fpostgresql/agents", { host: "/var/run/postgresql", user: "ada" }],
    // These only look like this machine.
    ["postgres://127.evil.example/agents", { isEncrypted: true }],
    ["postgres://localhost.evil.example/agents", { isEncrypted: true }],
    ["postgres://localhost%2eevil.example/agents", { host: "localhost.evil.example", isEncrypted: true }],
    ["postgres://[::ffff:10.0.0.1]/agents", { isEncrypted: true }],
    ["postgres://127.1/agents", { isEncrypted: true }],
    ["postgres://0.0.0.0/agents", { isEncrypted: true }],
  ])("%s is understood", (url, expected) => {
    expect(hubAddressOf(url)).toMatchObject(expected);
  });
});
