import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { KEY_HEADER } from "../../../src/view/questions.ts";
import { someOf } from "../../support/effort.ts";
import { user } from "../../support/said.ts";
import { type Asked, ServedView } from "../../support/served-view.ts";
import { temporaryStore } from "../../support/temporary-store.ts";

const SECRET = "the launch code is 4711";

async function servedStore(options: { write?: boolean } = {}) {
  const store = temporaryStore();
  const session = store.session("s", { title: "A secret" });
  for (let count = 0; count < 60; count++) session.append(user(`${SECRET}, for the ${count}th time`));
  onTestFinished(() => expect(store.verify()).toMatchObject({ ok: true, messageCount: 60, sessionCount: 1 }));
  return { store, view: await ServedView.of(store, options) };
}

const ROUTES = [
  "/api/about",
  "/api/sessions",
  "/api/search?q=launch",
  "/api/messages?session=s",
  "/api/context?session=s",
  "/api/export?session=s",
  "/api/part?message=1&path=0",
  "/api/events",
  "/api/sql?query=SELECT%20text%20FROM%20messages",
  "/",
];

test.each([
  ["another name", { headers: { host: "evil.example" } }],
  ["a name that begins like ours", { headers: { host: "localhost.evil.example:PORT" } }],
  ["our name as a user of another", { headers: { host: "127.0.0.1:PORT@evil.example" } }],
  ["our name with a dot at its end", { headers: { host: "localhost.:PORT" } }],
  ["our address as a number", { headers: { host: "2130706433:PORT" } }],
  ["every address", { headers: { host: "0.0.0.0:PORT" } }],
  ["our name with another port", { headers: { host: "127.0.0.1:1" } }],
  ["another origin", { headers: { origin: "http://evil.example" } }],
  ["an origin on another port of this machine", { headers: { origin: "http://127.0.0.1:1" } }],
  ["an origin with another scheme", { headers: { origin: "https://127.0.0.1:PORT" } }],
  ["no origin, as a sandboxed page says it", { headers: { origin: "null" } }],
  ["another site", { headers: { "sec-fetch-site": "cross-site" } }],
  ["another port of this machine", { headers: { "sec-fetch-site": "same-site" } }],
] as [string, Asked][])("a request with %s is refused on every route, also after entering", async (_name, asked) => {
  const { store } = await servedStore();
  const view = await ServedView.entered(store);
  const headers = Object.fromEntries(
    Object.entries(asked.headers!).map(([name, value]) => [name, String(value).replace("PORT", String(view.port))]),
  );
  for (const route of ROUTES) {
    const { status, body } = await view.ask(route, { headers });
    expect([400, 403, 421], route).toContain(status);
    expect(body).not.toContain("launch");
  }
  const posted = { "content-type": "application/json", ...headers };
  const forged = await view.ask("/api/forget", { method: "POST", headers: posted, body: '{"session":"s"}' });
  expect([400, 403, 421]).toContain(forged.status);
});

test("until somebody has entered, the page may be opened from elsewhere, and nothing else", async () => {
  const { view } = await servedStore();
  const open = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  expect(await view.ask("/", { headers: open })).toMatchObject({ status: 200 });
  const others: [string, Asked][] = [
    ["/", { headers: { ...open, "sec-fetch-dest": "iframe" } }],
    ["/", { headers: { ...open, "sec-fetch-mode": "no-cors" } }],
    ["/", { headers: { ...open, origin: "http://evil.example" } }],
    ["/", { headers: open, method: "POST" }],
    ["/?view=search&q=launch", { headers: open }],
    ["/page.js", { headers: open }],
    ["/api/about", { headers: open }],
    ["/api/enter", { headers: { ...open, "content-type": "application/json" }, method: "POST", body: "{}" }],
  ];
  for (const [path, asked] of others) expect((await view.ask(path, asked)).status, path).toBe(403);
  await view.enter();
  expect(await view.ask("/", { headers: open })).toMatchObject({ status: 403 });
});

test("the server's own names are accepted", async () => {
  const view = await ServedView.entered((await servedStore()).store);
  for (const host of ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"]) {
    expect(await view.ask("/api/about", { headers: { host: `${host}:${view.port}` } })).toMatchObject({ status: 200 });
  }
});

test("nothing but the page is answered without the key, or with a wrong one", async () => {
  const { view } = await servedStore();
  const { key } = JSON.parse((await view.enter()).body);
  for (const wrong of [undefined, "", "A".repeat(22), view.token, `${key} x`, `${key}, ${key}`, key.toLowerCase()]) {
    view.key = wrong;
    for (const route of ROUTES.filter((route) => route !== "/")) {
      const { status, body } = await view.ask(route);
      expect(status, route).toBe(401);
      expect(body).not.toContain("launch");
    }
  }
});

test("a browser has nothing that it would send by itself, to this server or to another port", async () => {
  const { view } = await servedStore();
  const entered = await view.enter();
  const { key } = JSON.parse(entered.body);
  expect(entered.headers["set-cookie"]).toBeUndefined();
  for (const route of ROUTES.filter((route) => route !== "/")) {
    for (const path of [route, `${route}${route.includes("?") ? "&" : "?"}${KEY_HEADER}=${key}`]) {
      const cookie = `${KEY_HEADER}=${key}; coppice-view-${view.port}=${key}`;
      expect(await view.ask(path, { headers: { cookie, authorization: `Bearer ${key}` } })).toMatchObject({
        status: 401,
      });
    }
  }
  view.key = key;
  const answer = await view.ask("/api/about");
  expect([answer.status, answer.headers["set-cookie"], answer.body.includes(key)]).toEqual([200, undefined, false]);
});

test("the token works once, and only the right one", async () => {
  const { view } = await servedStore();
  for (const token of ["", "x", "A".repeat(22), `${view.token} `, view.token.toLowerCase()]) {
    expect(await view.enter(token)).toMatchObject({ status: 401 });
  }
  const entered = await view.enter();
  expect(entered.status).toBe(200);
  expect(JSON.parse(entered.body)).toEqual({ key: expect.stringMatching(/^[\w-]{22}$/) });
  expect(entered.body).not.toContain(view.token);
  const replayed = await view.enter();
  expect(replayed.status).toBe(401);
  expect(replayed.body).not.toContain(JSON.parse(entered.body).key);
});

test("a form of another page cannot enter or act, because it cannot send JSON", async () => {
  const { view } = await servedStore({ write: true });
  const type = "application/x-www-form-urlencoded";
  const form = { method: "POST", headers: { "content-type": type }, body: `token=${view.token}` };
  expect(await view.ask("/api/enter", form)).toMatchObject({ status: 415 });
  expect(await view.enter()).toMatchObject({ status: 200 });
});

test.each([
  "/../package.json",
  "/%2e%2e/%2e%2e/package.json",
  "/assets/../../../../etc/passwd",
  "/..\\..\\package.json",
  "/index.html%00.js",
  "/api/part?message=1&path=../0",
  "/api/part?message=1&path=__proto__",
  "/api/constructor",
  "/api/__proto__",
])("nothing of the disk, and no property of an object, is found at %s", async (path) => {
  const view = await ServedView.entered((await servedStore()).store);
  const { status, body } = await view.ask(path);
  expect([400, 404]).toContain(status);
  expect(body).not.toMatch(/root:|"devDependencies"|native code/);
});

test("every answer forbids framing, sniffing, foreign scripts and referrers, and allows no other origin", async () => {
  const view = await ServedView.entered((await servedStore()).store);
  for (const path of ["/", "/api/about", "/api/nothing", "/api/part?message=1&path=0"]) {
    const { headers } = await view.ask(path);
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'/);
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|https?:/);
    expect(headers).toMatchObject({
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "referrer-policy": "no-referrer",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  }
  for (const method of ["OPTIONS", "PUT", "PATCH", "DELETE", "TRACE"]) {
    expect(await view.ask("/api/about", { method }), method).toMatchObject({ status: 405 });
  }
});

test("a file of a message is never a page: only images have their type", async () => {
  const store = temporaryStore();
  const data = Buffer.from("<svg onload=alert(1)>").toString("base64");
  const types = ["image/svg+xml", "text/html", "image/png", "IMAGE/PNG\r\nx: y", "application/pdf"];
  const parts = types.map((mediaType) => ({ type: "file" as const, mediaType, data }));
  const { messageId } = store.session("s").append({ role: "user", parts });
  const view = await ServedView.entered(store);
  const served = await Promise.all(
    types.map((_, index) => view.ask(`/api/part?message=${messageId}&path=${index}`).then(({ headers }) => headers)),
  );
  expect(served.map((headers) => headers["content-type"])).toEqual([
    "application/octet-stream",
    "application/octet-stream",
    "image/png",
    "application/octet-stream",
    "application/octet-stream",
  ]);
  for (const headers of served) expect(headers["content-security-policy"]).toBe("default-src 'none'; sandbox");
});

test("a range of an answer is the whole answer, however many are asked for", async () => {
  const view = await ServedView.entered((await servedStore()).store);
  const ranges = `bytes=${Array.from({ length: 500 }, () => "0-").join(",")}`;
  for (const path of ["/", "/page.js", "/api/part?message=1&path=0"]) {
    const whole = await view.ask(path);
    const { status, headers, body } = await view.ask(path, { headers: { range: ranges } });
    expect([status, body], path).toEqual([whole.status, whole.body]);
    expect(headers["content-range"]).toBeUndefined();
  }
});

test("without `write`, nothing acts, whatever the browser says", async () => {
  const { store } = await servedStore();
  const view = await ServedView.entered(store);
  expect(await view.post("/api/rename", { session: "s", title: "Mine" })).toMatchObject({ status: 403 });
  expect(await view.post("/api/forget", { session: "s" })).toMatchObject({ status: 403 });
  expect(await view.post("/api/forget", { session: "s", confirm: "x" })).toMatchObject({ status: 403 });
  expect(store.resume("s").info()).toMatchObject({ title: "A secret", messageCount: 60 });
  for (const query of [
    "DELETE FROM messages",
    "ATTACH '/tmp/evil.db' AS evil",
    "SELECT load_extension('/tmp/evil.so')",
  ]) {
    expect(await view.refusable("/api/sql", { query }), query).toMatchObject({ status: 400 });
  }
});

test("a statement that never ends is stopped, and the server answers meanwhile", async () => {
  const { store } = await servedStore();
  const view = await ServedView.entered(store);
  const query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
  const endless = view.refusable("/api/sql", { query });
  for (let count = 0; count < 20; count++) expect(await view.ask("/api/about")).toMatchObject({ status: 200 });
  expect(await endless).toMatchObject({ status: 408 });
});

test("statements of many rows are cut, and more of them than run at once wait for their turn", async () => {
  const view = await ServedView.entered((await servedStore()).store);
  const numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT i FROM n";
  const long = "SELECT hex(zeroblob(1000000)), x'00ff' AS bytes";
  const answers = await Promise.all([long, numbers, numbers].map((query) => view.get("/api/sql", { query })));
  for (const { columns, rows, isCut } of answers.slice(1)) {
    expect([columns, rows.length, isCut]).toEqual([["i"], 1_000, true]);
  }
  const [[text, bytes]] = answers[0]!.rows as [unknown[]];
  expect(String(text).length).toBeLessThan(25_000);
  expect(bytes).toBe("blob of 2 bytes");
});

const GREEDY = [
  "SELECT length(group_concat(hex(zeroblob(4000000)))) FROM n",
  "SELECT hex(zeroblob(400000000))",
  "SELECT replace(hex(zeroblob(2000000)), '00', hex(zeroblob(200000)))",
  "SELECT json_group_array(hex(zeroblob(4000000))) FROM n",
];

test.each(someOf(GREEDY, 1))("a statement that wants more memory than it may have fails alone: %s", async (select) => {
  const { store } = await servedStore();
  const view = await ServedView.entered(store);
  const query = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200) ${select}`;
  // A loaded machine may reach the limit of time first.
  expect([400, 408]).toContain((await view.refusable("/api/sql", { query })).status);
  expect((await view.get("/api/sql", { query: "SELECT 1 AS one" })).rows).toEqual([[1]]);
});

test("a body that is too large, not JSON, or of another shape is refused", async () => {
  const { store } = await servedStore({ write: true });
  const view = await ServedView.entered(store, { write: true });
  const headers = { "content-type": "application/json" };
  const send = (body: string) => view.ask("/api/rename", { method: "POST", headers, body });
  for (const body of [
    "{",
    "[]",
    '{"session":"s","title":""}',
    '{"session":"s","title":"t","more":1}',
    '{"session":"s","__proto__":{"title":"t"}}',
    `${"[".repeat(100_000)}${"]".repeat(100_000)}`,
  ]) {
    expect((await send(body)).status, body.slice(0, 50)).toBe(400);
  }
  // The server does not wait for the rest, so the answer may be lost with the connection.
  const large = send(JSON.stringify({ session: "s", title: "x".repeat(300_000) })).then(
    ({ status }) => status,
    ({ code, cause }) => cause?.code ?? code,
  );
  expect([413, "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]).toContain(await large);
  expect(store.resume("s").info().title).toBe("A secret");
});

/** Sends bytes that no client library would, and returns what comes back until the server or the time ends it. */
function raw(port: number, text: string, ms: number): Promise<string> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.on("data", (chunk) => {
      received += String(chunk);
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(received));
    setTimeout(() => socket.destroy(), ms).unref();
  });
}

/** The protocol and the headers of whoever has entered. */
function headOf({ port, key }: ServedView): string {
  return `HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nCoppice-Key: ${key}\r\n`;
}

test.each<[string, (head: string) => string]>([
  ["two hosts", (head) => `GET /api/about ${head}Host: evil\r\n\r\n`],
  ["no host", () => "GET /api/about HTTP/1.1\r\n\r\n"],
  ["another URL", () => "GET http://evil.example/api/about HTTP/1.1\r\nHost: evil.example\r\n\r\n"],
  ["a tunnel", (head) => `CONNECT evil:443 ${head}\r\n`],
  [
    "a smuggled request",
    (head) => `POST /api/enter ${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    "a request in the body of a refused one",
    (head) => {
      const inner = `GET /api/messages?session=s ${head}\r\n`;
      return `POST /api/enter HTTP/1.1\r\nHost: evil\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`;
    },
  ],
  ["a header of 100 kB", (head) => `GET /api/about ${head}X: ${"x".repeat(100_000)}\r\n\r\n`],
  ["a path of 100 kB", (head) => `GET /api/search?q=${"x".repeat(100_000)} ${head}\r\n`],
  [
    "a web socket",
    (head) =>
      `GET /api/events ${head}Connection: Upgrade\r\nUpgrade: websocket\r\n` +
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
  ],
  [
    "an upgrade to HTTP/2",
    (head) =>
      `GET /api/about ${head}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n`,
  ],
  ["noise", () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"],
])("%s is refused", async (_name, text) => {
  const view = await ServedView.entered((await servedStore()).store);
  const answer = await raw(view.port, text(headOf(view)), 1_000);
  expect(answer).not.toMatch(/ (101|2\d\d) /);
  expect(answer).not.toContain("launch");
  expect(await view.ask("/")).toMatchObject({ status: 200 });
});

test("readers that do not read, and writers that do not write, hold nobody up", async () => {
  const store = temporaryStore();
  const session = store.session("s");
  for (let count = 0; count < 100; count++) session.append(user(`${SECRET} ${"x".repeat(15_000)}`));
  const view = await ServedView.entered(store);
  const sockets: Socket[] = [];
  const open = (text: string): void => {
    const socket = connect(view.port, "127.0.0.1", () => socket.write(text));
    socket.on("error", () => {});
    socket.pause();
    sockets.push(socket);
  };
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const head = headOf(view);
  for (let count = 0; count < 20; count++) {
    open(`GET /api/messages?session=s&limit=200 ${head}\r\n`); // takes nothing of a megabyte
    open(`GET /api/export?session=s ${head}\r\n`);
    open(`POST /api/forget ${head}Content-Length: 1000\r\n\r\n{`); // never sends the rest
    open("GET /api/about HTTP/1.1\r\nHost: "); // nor the headers
  }
  await sleep(300);
  const memory = process.memoryUsage().rss;
  for (let count = 0; count < 20; count++) expect(await view.ask("/api/about")).toMatchObject({ status: 200 });
  expect(process.memoryUsage().rss - memory).toBeLessThan(200_000_000);
});

test("pages that listen are counted, and one that leaves makes room", async () => {
  const { store } = await servedStore();
  const view = await ServedView.entered(store);
  const listen = (): Socket => {
    const socket = connect(view.port, "127.0.0.1", () => socket.write(`GET /api/events ${headOf(view)}\r\n`));
    socket.on("error", () => {});
    return socket;
  };
  const sockets = Array.from({ length: 16 }, listen);
  await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once("data", resolve))));
  expect(await view.ask("/api/events")).toMatchObject({ status: 503 });
  for (const socket of sockets) socket.destroy();
  await expect.poll(() => statusOf(listen())).toContain("200 OK");
});

function statusOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once("data", (chunk) => {
      socket.destroy();
      resolve(String(chunk));
    });
  });
}
