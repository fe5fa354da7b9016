import { setTimeout as wait } from "node:timers/promises";
import { expect, onTestFinished, vi } from "vitest";
import { grantTeam } from "../../src/hub/administration.ts";
import { HubConnection } from "../../src/hub/connection.ts";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { slow } from "../support/effort.ts";
import {
  connected,
  copiedStore,
  hubWithStores,
  openedConnection,
  openedHub,
  readyDatabase,
  run,
  test,
} from "../support/hub.ts";
import { expectOnHub } from "../support/pushed.ts";
import { user } from "../support/said.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };
const FORGETTING = { ...WEB, forgotten: "forget" } as const;
const NOTHING = {
  sessionCount: 0,
  messageCount: 0,
  gone: [],
  kept: [],
  expired: [],
  moved: [],
  forked: [],
  behind: [],
  diverged: [],
};

function grow(store: Store, id: string, count: number, project = "web"): void {
  const session = store.session(id, { project });
  const from = session.messages().length;
  session.append(
    Array.from({ length: count }, (_, index) => {
      const number = from + index;
      const content = `${number} The deploy of region ${number % 7} failed: \u0000 "${"x".repeat(number % 50)}" in src/${number}.ts`;
      return { role: number % 2 === 0 ? ("user" as const) : ("assistant" as const), content };
    }),
  );
  session.compact();
}

test("what is pushed is what the store has, and a second push sends nothing", async () => {
  const { url, hub, home: store } = await hubWithStores();
  grow(store, "one", 130);
  store
    .session("one")
    .append({ role: "tool", parts: [{ type: "tool_result", toolCallId: "c", content: "long ".repeat(30_000) }] });
  store.session("one").entries.append([{ id: "e", value: { type: "event" } }]);
  store.items.put(["operations"], "op", { done: true }, { session: "one" });
  await store.session("one").resolveDirty();
  grow(store, "two", 3);
  expect(await hub.push(store, WEB)).toEqual({ ...NOTHING, sessionCount: 2, messageCount: 134 });
  await expectOnHub(url, store, "one");
  await expectOnHub(url, store, "two");
  expect(await hub.push(store, WEB)).toEqual(NOTHING);

  grow(store, "two", 40);
  const progress: unknown[] = [];
  await hub.push(store, { projects: ["web"], onProgress: (event) => progress.push(event) });
  expect(progress).toContainEqual({ sessionId: "two", messageCount: 40, doneCount: 1, sessionCount: 2 });
  await expectOnHub(url, store, "two");
});

test("messages of times far from now are pushed and found", async () => {
  const { url, hub, home: store } = await hubWithStores();
  const times = [8.64e15, -8.64e15, 5e15, 0];
  store
    .session("far", { project: "web" })
    .append(times.map((createdAt, at) => ({ role: "user", content: `harbor ${at}`, createdAt })));
  expect(await hub.push(store, WEB)).toMatchObject({ messageCount: 4 });
  await expectOnHub(url, store, "far");
  expect(await hub.recall("harbor")).toHaveLength(4);
  expect(await hub.recall("harbor", { untilMs: 0 })).toHaveLength(2);
});

slow(test)("a long session goes in several transactions", async () => {
  const { url, hub, home: store } = await hubWithStores();
  grow(store, "long", 1_203);
  await hub.push(store, WEB);
  await expectOnHub(url, store, "long");
  const transactions = await run<{ count: string }>(url, "SELECT count(DISTINCT xmin::text) FROM coppice.messages");
  expect(transactions).toEqual([{ count: "3" }]);
});

slow(test)(
  "a push reads where messages are once, and again after a message was forgotten between its transactions",
  async () => {
    const url = await readyDatabase();
    const [hub, path] = [await openedHub(url), temporaryPath()];
    const [store, other] = [openedStore(path), openedStore(path)];
    grow(store, "quiet", 1_803);
    grow(store, "long", 1_803);
    const places = vi.spyOn(internalsOf(store).repositories.pushedRows, "places");
    onTestFinished(() => places.mockRestore());
    await hub.push(store, { sessions: ["quiet"] });
    expect(places).toHaveBeenCalledTimes(1);

    const forgotten = other.session("long").messages()[200]!.id;
    const transaction = HubConnection.prototype.transaction;
    const transactions = vi.spyOn(HubConnection.prototype, "transaction").mockImplementation(async function (
      this: HubConnection,
      ...given
    ) {
      const result = await transaction.apply(this, given);
      if (places.mock.calls.length === 2) other.forget("long", { messageIds: [forgotten] });
      return result;
    } as typeof transaction);
    onTestFinished(() => transactions.mockRestore());
    await hub.push(store, { sessions: ["long"] });
    transactions.mockRestore();
    expect(places.mock.calls.length).toBeGreaterThan(2);
    await expectOnHub(url, store, "long");
    const left = await run(url, "SELECT message_id FROM coppice.messages WHERE message_id = $1", [forgotten]);
    expect(left).toEqual([]);
  },
);

test("only the named projects and sessions leave the store", async () => {
  const { hub, home: store } = await hubWithStores();
  grow(store, "shared", 2);
  grow(store, "private", 2, "diary");
  store.session("loose").append({ role: "user", content: "no project" });
  expect(await hub.push(store, {})).toEqual(NOTHING);
  await hub.push(store, WEB);
  expect((await hub.sessions()).map(({ sessionId }) => sessionId)).toEqual(["shared"]);
  await hub.push(store, { sessions: ["loose"] });
  expect((await hub.sessions()).map(({ sessionId, project }) => [sessionId, project])).toEqual([
    ["loose", null],
    ["shared", "web"],
  ]);
  await expect(hub.push(store, { sessions: ["unknown"] })).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
});

test("a rewind, an undo and an edit are carried", async () => {
  const { url, hub, home: store } = await hubWithStores();
  grow(store, "one", 90);
  await hub.push(store, WEB);
  const session = store.session("one");
  session.rewind({ toSeq: 40 });
  session.append({ role: "user", content: "another way" });
  await hub.push(store, WEB);
  await expectOnHub(url, store, "one");
  session.undo();
  await hub.push(store, WEB);
  await expectOnHub(url, store, "one");
  session.edit(session.messages()[7]!.id, { role: "assistant", content: "edited" });
  grow(store, "one", 60);
  await hub.push(store, WEB);
  await expectOnHub(url, store, "one");
});

test("an older copy is behind, and a copy that went on has diverged; neither changes anything", async () => {
  const { url, hub, store, copy: copied } = await copiedStore();
  grow(store, "one", 10);
  await hub.push(store, WEB);
  const copy = await copied();
  grow(store, "one", 5);
  await hub.push(store, WEB);
  expect(await hub.push(copy, WEB)).toEqual({ ...NOTHING, behind: ["one"] });
  copy.session("one").append({ role: "user", content: "the copy goes on" });
  expect(await hub.push(copy, WEB)).toEqual({ ...NOTHING, diverged: ["one"] });
  grow(copy, "one", 20);
  expect(await hub.push(copy, WEB)).toEqual({ ...NOTHING, diverged: ["one"] });
  await expectOnHub(url, store, "one");
});

test("a session that another store has taken, or that expired, is not sent", async () => {
  const { url, hub, home: store } = await hubWithStores();
  grow(store, "one", 4);
  await hub.push(store, WEB);
  grow(store, "one", 4);
  await run(url, "UPDATE coppice.sessions SET holder = gen_random_uuid(), epoch = epoch + 1");
  expect(await hub.push(store, WEB)).toEqual({ ...NOTHING, moved: ["one"] });
  await run(url, "UPDATE coppice.sessions SET expired_at = now()");
  expect(await hub.push(store, WEB)).toEqual({ ...NOTHING, expired: ["one"] });
});

test("the hub deletes what its project keeps no longer, and the store keeps it", async () => {
  const { url, hub, home: store } = await hubWithStores();
  grow(store, "one", 4);
  grow(store, "two", 4);
  await hub.push(store, WEB);
  expect(await hub.keep()).toMatchObject({ expiredCount: 0 });
  await run(url, "UPDATE coppice.places SET retention_days = 30");
  await run(url, "UPDATE coppice.sessions SET pushed_at = now() - interval '29 days' WHERE session_id = 'one'");
  await run(url, "UPDATE coppice.sessions SET pushed_at = now() - interval '31 days' WHERE session_id = 'two'");
  expect(await hub.keep()).toMatchObject({ expiredCount: 1 });
  expect((await hub.sessions()).map(({ sessionId }) => sessionId)).toEqual(["one"]);
  expect(
    await run(url, "SELECT DISTINCT s.session_id FROM coppice.messages m JOIN coppice.sessions s USING (session_no)"),
  ).toEqual([{ session_id: "one" }]);
  const { text } = store.resume("two").messages()[0]!;
  expect((await hub.recall(text)).filter(({ sessionId }) => sessionId === "two")).toEqual([]);
  grow(store, "two", 4);
  expect(await hub.push(store, WEB)).toEqual({ ...NOTHING, expired: ["two"] });
  expect(store.resume("two").messages()).toHaveLength(8);
  expect(await hub.keep()).toMatchObject({ expiredCount: 0 });
});

test("forgotten messages leave the hub with the next push, and every copy", async () => {
  const { url, hub, store, copy: copied } = await copiedStore();
  grow(store, "one", 80);
  const session = store.session("one");
  const secret = session.append({ role: "user", content: `the secret word ${"and more ".repeat(10_000)}` });
  grow(store, "one", 60);
  await hub.push(store, WEB);
  const copy = await copied();

  store.forget("one", { messageIds: [secret.messageId, session.messages()[3]!.id] });
  await hub.push(store, WEB);
  await expectOnHub(url, store, "one");
  expect(await run(url, "SELECT message_id FROM coppice.messages WHERE message_id = $1", [secret.messageId])).toEqual(
    [],
  );
  expect(await run(url, "SELECT sha256 FROM coppice.artifacts")).toEqual([]);

  await hub.push(copy, FORGETTING);
  expect(
    copy
      .session("one")
      .messages()
      .map(({ id }) => id),
  ).toEqual(session.messages().map(({ id }) => id));
  grow(store, "one", 5);
  await hub.push(store, WEB);
  await expectOnHub(url, store, "one");
});

test("a forgotten session leaves the hub, and a copy that comes later does not bring it back", async () => {
  const { url, hub, store, copy: copied } = await copiedStore();
  grow(store, "one", 40);
  grow(store, "two", 2);
  await hub.push(store, WEB);
  const copy = await copied();

  store.forget("one", { dryRun: true });
  expect(await hub.push(store, WEB)).toEqual(NOTHING);
  store.forget("one");
  expect(await hub.push(store, WEB)).toMatchObject({ messageCount: 0, gone: [] });
  for (const table of ["messages", "facts", "artifacts"]) {
    const rows = await run(url, `SELECT DISTINCT session_no FROM coppice.${table} ORDER BY 1`);
    expect(rows.length, table).toBeLessThanOrEqual(1);
  }
  expect((await hub.sessions()).map(({ sessionId }) => sessionId)).toEqual(["two"]);

  grow(copy, "one", 10);
  expect(await hub.push(copy, FORGETTING)).toMatchObject({ messageCount: 0, gone: ["one"] });
  expect(copy.sessions().map(({ id }) => id)).toEqual(["two"]);
  expect(await hub.push(copy, WEB)).toMatchObject({ messageCount: 0, gone: [] });
  await hub.push(store, WEB);
  await expectOnHub(url, store, "two");
});

test("a session that begins again under the id of a forgotten one stays here", async () => {
  const { hub, home: store } = await hubWithStores();
  grow(store, "pushed", 3);
  await hub.push(store, WEB);
  for (const id of ["pushed", "never pushed"]) {
    grow(store, id, 1);
    store.forget(id);
    await wait(5); // the new one begins at another time
    grow(store, id, 2);
  }
  const diverged = ["pushed", "never pushed"];
  const report = await hub.push(store, WEB);
  expect(new Set(report.diverged)).toEqual(new Set(diverged));
  expect(report.gone).toEqual([]);
  expect(new Set(store.sessions().map(({ id }) => id))).toEqual(new Set(diverged));
  expect(await hub.sessions()).toEqual([]);
});

test("the hub does not learn the ids of forgotten sessions that were never meant for it", async () => {
  const { url, hub, home: store, away: other } = await hubWithStores();
  grow(other, "theirs", 1, "diary");
  other.session("loose").append({ role: "user", content: "no project" });
  await hub.push(other, { sessions: ["theirs", "loose"] });
  grow(store, "one", 1);
  await hub.push(store, WEB);
  grow(store, "private", 1, "diary");
  store.session("private, too").append({ role: "user", content: "no project" });
  for (const id of ["private", "private, too"]) store.forget(id);
  await hub.push(store, WEB);
  const rows = await run(url, "SELECT session_id FROM coppice.sessions ORDER BY 1");
  expect(rows.map(({ session_id }) => session_id)).toEqual(["loose", "one", "theirs"]);
});

test("a push takes no project of another team, and whoever is in several teams names one", async () => {
  const { url, home: store } = await hubWithStores();
  const hub = await openedHub(url);
  await run(url, "INSERT INTO coppice.places (team, project) VALUES ('coppice_team_elsewhere', 'web')");
  grow(store, "one", 2);
  await hub.push(store, WEB);
  const sessions = "SELECT team, session_id FROM coppice.sessions";
  expect(await run(url, sessions)).toEqual([{ team: "coppice_team_test", session_id: "one" }]);
  const connection = await openedConnection(url);
  await grantTeam(connection, new URL(url).username, "second", "write");
  onTestFinished(() => run(url, "REVOKE coppice_team_second FROM CURRENT_USER").then(() => {}));
  await expect(hub.push(store, WEB)).rejects.toMatchObject({ code: "HUB_REFUSED" });
  grow(store, "one", 2);
  expect(await hub.push(store, { projects: ["web"], team: "test" })).toMatchObject({ messageCount: 2 });
  await expect(hub.push(store, { projects: ["web"], team: "elsewhere" })).rejects.toMatchObject({
    code: "HUB_REFUSED",
  });
  expect(await run(url, sessions)).toHaveLength(1);
});

test("each error of the store or the hub names what to do", async () => {
  const url = await readyDatabase();
  const hub = await openedHub(url);
  const path = temporaryPath();
  grow(openedStore(path), "one", 2);
  const readonly = openedStore(path, { readonly: true });
  await expect(hub.push(readonly, WEB)).rejects.toMatchObject({ code: "STORE_READONLY" });
  const stopped = AbortSignal.abort(new Error("stopped"));
  await expect(hub.push(openedStore(path), { projects: ["web"], signal: stopped })).rejects.toThrow("stopped");
});

test("a message that comes back while a push waits, and leaves again, is found when it is there", async () => {
  const { url, hub, home: store } = await hubWithStores();
  const [session, names] = [store.session("s", { project: "web" }), { sessions: ["s"] }];
  const [first, second] = session.append([user("apples"), user("oranges")]);
  await hub.push(store, names);
  session.rewind({ toMessageId: first!.messageId });
  await hub.push(store, names);
  expect(await hub.recall("oranges")).toEqual([]);
  session.undo();
  const other = await connected(url);
  await other.query("BEGIN");
  await other.query("SELECT FROM coppice.messages WHERE message_id = $1 FOR UPDATE", [second!.messageId]);
  const pushing = hub.push(store, names);
  const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await expect.poll(() => run(url, waiting)).toHaveLength(1);
  session.rewind({ toMessageId: first!.messageId });
  await other.query("COMMIT");
  await pushing;
  await hub.push(store, names);
  session.undo();
  await hub.push(store, names);
  expect(await hub.recall("oranges", { limit: 1 })).toMatchObject([{ messageId: second!.messageId }]);
});
