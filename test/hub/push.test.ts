import { expect, vi } from "vitest";
import type { Store } from "../../src/index.ts";
import { slow } from "../support/effort.ts";
import {
  afterTransactions,
  connected,
  hubWithStores,
  openedHub,
  readyDatabase,
  run,
  saidIn,
  talkOf,
  test,
} from "../support/hub.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };
const NOTHING = {
  ...{ sessionCount: 0, messageCount: 0, forgottenCount: 0, refusedCount: 0 },
  ...{ gone: [], kept: [], moved: [], forked: [], behind: [], diverged: [] },
};

function grow(store: Store, id: string, count: number, project = "web"): void {
  store.session(id, { project }).append(talkOf(count, id));
}

test("a second push sends nothing, and says so", async () => {
  const { hub, home: store } = await hubWithStores();
  grow(store, "one", 130);
  grow(store, "two", 3);
  expect(await hub.push(store, WEB)).toEqual({ ...NOTHING, sessionCount: 2, messageCount: 133 });
  expect(await hub.push(store, WEB)).toEqual(NOTHING);
  grow(store, "two", 40);
  const progress: unknown[] = [];
  await hub.push(store, { projects: ["web"], onProgress: (event) => progress.push(event) });
  expect(progress).toContainEqual(expect.objectContaining({ sessionId: "two", messageCount: 40, sessionCount: 2 }));
});

test("messages of times far from now are pushed and pulled", async () => {
  const { hub, home: store, away } = await hubWithStores();
  const times = [8.64e15, -8.64e15, 5e15, 0];
  store
    .session("far", { project: "web" })
    .append(times.map((createdAt, at) => ({ role: "user", content: `harbor ${at}`, createdAt })));
  expect(await hub.push(store, WEB)).toMatchObject({ messageCount: 4 });
  await hub.pull(away, "far");
  expect(saidIn(away, "far")).toEqual(saidIn(store, "far"));
});

slow(test)("a long session goes in several transactions", async () => {
  const { url, hub, home: store } = await hubWithStores();
  grow(store, "long", 1_203);
  await hub.push(store, WEB);
  const rows = await run<{ n: string }>(url, "SELECT n FROM coppice_test.log ORDER BY n");
  expect(rows.map(({ n }) => Number(n))).toEqual([0, 500, 1_000]);
});

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

test("what is pushed by two processes at once is there once", async () => {
  const url = await readyDatabase();
  const path = temporaryPath();
  const [one, two] = [openedStore(path), openedStore(path)];
  const [first, second] = [await openedHub(url), await openedHub(url)];
  const away = openedStore(temporaryPath());
  for (let round = 0; round < 8; round++) {
    grow(one, "one", 30);
    await Promise.all([first.push(one, WEB), second.push(two, WEB)]);
  }
  await first.push(one, WEB);
  await first.pull(away, "one");
  expect(saidIn(away, "one")).toEqual(saidIn(one, "one"));
  expect(away.resume("one").messages()).toHaveLength(240);
});

test("an answer that is lost is no harm: what was sent is not sent again", async () => {
  const { hub, home, away } = await hubWithStores();
  grow(home, "one", 20);
  await hub.push(home, WEB);
  grow(home, "one", 5);
  let isLost = false;
  afterTransactions(async (result) => {
    if (result === true && !isLost) {
      isLost = true;
      throw new Error("the answer is lost");
    }
  });
  await expect(hub.push(home, WEB)).rejects.toThrow("lost");
  vi.restoreAllMocks();
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 0, diverged: [], behind: [] });
  grow(home, "one", 1);
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 1 });
  await hub.pull(away, "one");
  expect(saidIn(away, "one")).toEqual(saidIn(home, "one"));
});

test("a session that begins again under the id of a forgotten one is another session", async () => {
  const { hub, home: store, away } = await hubWithStores();
  for (const id of ["pushed", "never pushed"]) {
    grow(store, id, 3);
    if (id === "pushed") await hub.push(store, WEB);
    store.forget(id);
    store.restore(id);
    grow(store, id, 2);
  }
  expect(await hub.push(store, WEB)).toMatchObject({ messageCount: 4, kept: [], diverged: [] });
  for (const id of ["pushed", "never pushed"]) {
    await hub.pull(away, id);
    expect(saidIn(away, id)).toEqual(saidIn(store, id));
  }
});

test("the hub does not learn the ids of forgotten sessions that it never had", async () => {
  const { url, hub, home: store } = await hubWithStores();
  grow(store, "one", 1);
  await hub.push(store, WEB);
  grow(store, "private", 1, "diary");
  store.forget("private");
  await hub.push(store, WEB);
  expect(await run(url, "SELECT session_id FROM coppice_test.sessions")).toEqual([{ session_id: "one" }]);
});

test("a session that somebody has locked makes a push wait, and no other", async () => {
  const { url, hub, home: store } = await hubWithStores();
  grow(store, "one", 2);
  await hub.push(store, WEB);
  grow(store, "one", 1);
  const other = await connected(url);
  await other.query("BEGIN");
  await other.query("SELECT FROM coppice_test.sessions FOR UPDATE");
  const pushing = hub.push(store, WEB);
  const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
  await expect.poll(() => run(url, waiting)).toHaveLength(1);
  await other.query("COMMIT");
  expect(await pushing).toMatchObject({ messageCount: 1 });
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
