import { deflateRawSync } from "node:zlib";
import { expect, onTestFinished } from "vitest";
import { follow } from "../../src/hub/index.ts";
import { headOf } from "../../src/hub/log.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { grantedTo, hubWithStores, run, talkOf, test } from "../support/hub.ts";

const bodyOf = (value: unknown): Buffer => Buffer.concat([Buffer.of(1), deflateRawSync(JSON.stringify(value))]);
const said = (message: object): object => ({ message: { createdAtMs: 1, ...message } });
const deep = `${'{"a":'.repeat(500)}1${"}".repeat(500)}`;

test.each<[string, Buffer]>([
  ["another form", Buffer.of(9, 1, 2)],
  ["no bytes", Buffer.alloc(0)],
  ["more bytes than are read", Buffer.alloc(64 * 1024 * 1024 + 1, 1)],
  ["what inflates to more bytes", bodyOf(["y".repeat(64 * 1024 * 1024)])],
  ["what cannot be inflated", Buffer.of(1, 255, 255)],
  ["no list", bodyOf({ message: {} })],
  ["an unknown event", bodyOf([{ dropped: 1 }])],
  ["a rewind to nowhere", bodyOf([{ keep: -1 }])],
  ["no message", bodyOf([{ message: null, entry: { createdAtMs: 1, value: 1 } }])],
  ["a message without parts", bodyOf([said({ role: "user" })])],
  ["an entry without a value", bodyOf([{ entry: { createdAtMs: 1 } }])],
  ["a message without a role", bodyOf([said({ parts: [] })])],
  ["a message of a wrong role", bodyOf([said({ role: "root", parts: [] })])],
  [
    "a message that is nested too deep",
    bodyOf([said({ role: "user", parts: [{ type: "data", data: JSON.parse(deep) }] })]),
  ],
  ["a message without a time", bodyOf([{ message: { role: "user", parts: [] } }])],
  ["a time that no message has", bodyOf([said({ role: "user", parts: [], createdAtMs: 1e300 })])],
])("%s in the log of a session is named, and the others come", async (_, body) => {
  const { url, hub, home, away } = await hubWithStores();
  for (const id of ["bad", "good"]) home.session(id, { project: "web" }).append(talkOf(3, id));
  await hub.push(home, { projects: ["web"] });
  await run(url, "UPDATE coppice_test.sessions SET length = length + 1 WHERE session_id = 'bad'");
  await run(
    url,
    "INSERT INTO coppice_test.log SELECT session_no, 3, $1 FROM coppice_test.sessions WHERE session_id = 'bad'",
    [body],
  );
  follow(away, "web");
  const { refused } = await hub.sync(away);
  expect(refused).toMatchObject([{ sessionId: "bad" }]);
  expect(away.resume("good").messages()).toHaveLength(3);
  expect(away.resume("bad").messages()).toHaveLength(3);
  expect(away.verify().ok).toBe(true);
  expect((await hub.sync(away)).refused).toHaveLength(1);
});

test("a head that is no head is named, and a row of the log that is missing, too", async () => {
  const { url, hub, home, away } = await hubWithStores();
  for (const id of ["bad", "gap"]) home.session(id, { project: "web" }).append(talkOf(3, id));
  await hub.push(home, { projects: ["web"] });
  await run(url, "UPDATE coppice_test.sessions SET head = $1 WHERE session_id = 'bad'", [bodyOf({ title: 1 })]);
  await run(
    url,
    "UPDATE coppice_test.log SET n = 2 WHERE session_no = (SELECT session_no FROM coppice_test.sessions WHERE session_id = 'gap')",
  );
  follow(away, null);
  const { refused } = await hub.sync(away);
  expect(refused.map(({ sessionId }) => sessionId).sort()).toEqual(["bad", "gap"]);
});

test("a row that became shorter keeps no other session from being pushed or synced, and nothing counts as forgotten", async () => {
  const { url, hub, home, away } = await hubWithStores();
  for (const id of ["bad", "good", "gone"]) home.session(id, { project: "web" }).append(talkOf(3, id));
  await hub.push(home, { projects: ["web"] });
  follow(away, "web");
  await hub.sync(away);
  await run(url, "UPDATE coppice_test.sessions SET length = 0 WHERE session_id = 'bad'");
  await run(url, "DELETE FROM coppice_test.sessions WHERE session_id = 'gone'");
  for (const id of ["bad", "good"]) home.resume(id).append(talkOf(2, "more"));
  const pushed = hub.push(home, { projects: ["web"], sessions: ["bad", "good", "gone"], forgotten: "forget" });
  await expect(pushed).rejects.toMatchObject({ code: "HUB_CHANGED", message: expect.stringContaining('"bad"') });
  expect(home.resume("gone").messages()).toHaveLength(3);
  expect(await hub.sync(away)).toMatchObject({ messageCount: 2, forgotten: [], refused: [{ sessionId: "bad" }] });
  await run(url, "UPDATE coppice_test.sessions SET length = 3 WHERE session_id = 'bad'");
  expect(await hub.push(home, { projects: ["web"] })).toMatchObject({ messageCount: 2, kept: ["gone"] });
  expect(await hub.sync(away)).toMatchObject({ messageCount: 2, forgotten: ["gone"], refused: [] });
});

test("nobody adds to a session in another's name", async () => {
  const { url, hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(3));
  await hub.push(home, { projects: ["web"] });
  const other = `other_${process.pid}`;
  await run(url, `CREATE ROLE ${other} LOGIN`);
  onTestFinished(() => run(url, `DROP OWNED BY ${other}; DROP ROLE ${other}`).then(() => {}));
  const theirs = await grantedTo(url, other, "test", "write");
  const add = "INSERT INTO coppice_test.log SELECT session_no, $2, $1 FROM coppice_test.sessions";
  const body = bodyOf([said({ role: "user", parts: [{ type: "text", text: "not hers" }] })]);
  for (const place of [1, 2, 3, 4]) {
    await expect(run(theirs, add, [body, place])).rejects.toThrow("row-level security");
  }
  await run(url, add, [body, 4]); // by a superuser
  follow(away, "web");
  expect(await hub.sync(away)).toMatchObject({ messageCount: 3, refused: [] });

  // Who adds by the rules is its author from then on.
  await run(theirs, "UPDATE coppice_test.sessions SET length = 4, pushed_by = session_user");
  await run(theirs, add, [body, 3]);
  await run(url, "UPDATE coppice_test.sessions SET pushed_at = clock_timestamp()");
  expect(await hub.sync(away)).toMatchObject({ messageCount: 1 });
  expect(away.sessions()).toMatchObject([{ author: other }]);
  home.resume("one").append(talkOf(1, "more"));
  expect(await hub.push(home, { projects: ["web"] })).toMatchObject({ diverged: ["one"] });
});

test("a row that is too large for others to read is not taken", async () => {
  const { url } = await hubWithStores();
  const insert =
    "INSERT INTO coppice_test.sessions (origin, session_id, holder, project, head) VALUES (gen_random_uuid(), 's', gen_random_uuid(), 'web'";
  await expect(run(url, `${insert}, decode(repeat('00', 240000001), 'hex'))`)).rejects.toThrow("check constraint");
});

const HEAD = {
  ...{ title: null, settings: {}, metadata: null, source: null, parent: null, forkSeq: null, createdAtMs: 1 },
  items: [],
};
const ITEM = { namespace: ["app"], key: "k", value: 1, createdAtMs: 1, updatedAtMs: 1 };

test.each<[string, object]>([
  ["title", { title: {} }],
  ["items.0.namespace", { items: [{}] }],
  ["items.0.key", { items: [{ ...ITEM, key: 1 }] }],
  ["metadata", { metadata: 1 }],
  ["createdAtMs", { createdAtMs: 1e300 }],
  ["forkSeq", { forkSeq: "0" }],
])("a head with a wrong %s is refused", (field, change) => {
  expect(() => headOf(bodyOf({ ...HEAD, ...change }))).toThrow(field);
  expect(headOf(bodyOf({ ...HEAD, items: [ITEM] }))).toMatchObject({ items: [ITEM] });
});

test("a message that is too large for others to read is named, and the others go", async () => {
  const { hub, home, away } = await hubWithStores();
  home
    .session("big", { project: "web" })
    .append([...talkOf(2), { role: "user", content: "\u0001".repeat(12_000_000) }]);
  home.session("good", { project: "web" }).append(talkOf(3));
  const small = home.session("entries", { project: "web" });
  for (const value of ["a", "b", "\u0001".repeat(12_000_000), "c"]) small.entries.append([{ value }]);
  await expect(hub.push(home, { projects: ["web"] })).rejects.toMatchObject({ code: "HUB_REFUSED" });
  for (const id of ["big", "entries"]) {
    const message = expect.stringMatching(new RegExp(`"${id}" has 72\\d+ bytes of next`));
    const hint = expect.stringContaining(`coppice forget ${id}`);
    await expect(hub.push(home, { sessions: [id] })).rejects.toMatchObject({ message, hint });
  }
  follow(away, "web");
  await hub.sync(away);
  expect(["big", "good"].map((id) => away.resume(id).messages().length)).toEqual([2, 3]);
  await hub.pull(away, "entries");
  expect(
    away
      .resume("entries")
      .entries.list()
      .map(({ value }) => value),
  ).toEqual(["a", "b"]);
});

test("settings that this version does not know are left out, and those that it knows are kept", async () => {
  const { url, hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(3));
  await hub.push(home, { projects: ["web"] });
  const settings = { overlap: 3, strategyOfTomorrow: "x", evictBatch: "many" };
  await run(url, "UPDATE coppice_test.sessions SET head = $1", [bodyOf({ ...HEAD, settings })]);
  follow(away, "web");
  expect((await hub.sync(away)).refused).toEqual([]);
  expect(internalsOf(away).repositories.sessions.byId("one")?.settings).toMatchObject({ overlap: 3 });
});

test("items of a copy say nothing of other sessions", async () => {
  const { url, hub, home, away } = await hubWithStores();
  home.session("plan", { project: "web" }).append(talkOf(3));
  home.resume("plan").update({ addTags: ["hot"] });
  away.session("plan").append(talkOf(1, "mine"));
  await hub.push(home, { projects: ["web"] });
  follow(away, "web");
  await hub.sync(away);
  const copy = away.sessions().find(({ id }) => id !== "plan")!.id;
  expect(away.sessions({ tag: "hot" }).map(({ id }) => id)).toEqual([copy]);
  const items = ["mine", "plan"].map((key) => ({ ...ITEM, namespace: ["coppice", "tags", "hidden"], key }));
  items.push({ ...ITEM, namespace: ["coppice", "other"], key: "plan" });
  away.session("mine").append(talkOf(1, "mine"));
  await run(url, "UPDATE coppice_test.sessions SET head = $1, pushed_at = clock_timestamp()", [
    bodyOf({ ...HEAD, items }),
  ]);
  await hub.sync(away);
  expect(away.items.list(["coppice"]).map(({ key }) => key)).toEqual([copy]);
});

test("folders cross in neither direction", async () => {
  const { url, hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(3));
  await hub.push(home, { projects: ["web"] });
  await run(url, "UPDATE coppice_test.sessions SET project = '/etc/secrets/shop'");
  follow(away, null);
  await hub.sync(away);
  expect(away.resume("one").project).toBe("shop");
});
