import { expect } from "vitest";
import { initHub } from "../../src/hub/administration.ts";
import { follow, unfollow } from "../../src/hub/index.ts";
import { connected, openedConnection, openedHub, readyDatabase, saidIn, talkOf, test } from "../support/hub.ts";
import { temporaryStore } from "../support/temporary-store.ts";
import { transactionPooler } from "../support/transaction-pooler.ts";

const WEB = { projects: ["web"] };

/** What a transaction may leave behind on its connection, which then is another client's. */
const LEFT = `SELECT pg_backend_pid() AS pid, (SELECT count(*)::int FROM pg_prepared_statements)
  + (SELECT count(*)::int FROM pg_settings WHERE source = 'session') + (SELECT count(*)::int FROM pg_listening_channels())
  + (SELECT count(*)::int FROM pg_class WHERE relnamespace = pg_my_temp_schema())
  + (SELECT count(*)::int FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS left`;

test("a team works through a pooler that gives each transaction another connection, and leaves nothing on them", async () => {
  const url = await transactionPooler(await readyDatabase(), 2);
  await initHub(await openedConnection(url), "test", true);
  const stores = ["ada", "bob"].map((id) => {
    const store = temporaryStore();
    store.session(id, { project: "web" }).append(talkOf(60, id));
    follow(store, null);
    return { id, store };
  });
  // Each has connections of its own to the pooler.
  await Promise.all(stores.map(async ({ store }) => (await openedHub(url)).push(store, WEB)));
  const hub = await openedHub(url);
  await Promise.all(stores.map(({ store }) => hub.sync(store)));
  for (const { store } of stores)
    for (const { id, store: of } of stores) expect(saidIn(store, id)).toEqual(saidIn(of, id));
  const [ada, bob] = stores.map(({ store }) => store);
  await hub.pull(bob!, "ada", { take: true });
  bob!.session("ada").append(talkOf(1, "bob"));
  await hub.push(bob!, { sessions: ["ada"] });
  bob!.forget("bob");
  await hub.push(bob!, WEB);
  expect(unfollow(ada!, null)).toEqual(["bob"]);
  expect(await hub.everywhere("deploy")).not.toEqual([]);
  const client = await connected(url);
  const left = [await client.query(LEFT), await client.query(LEFT)].flatMap(({ rows }) => rows);
  expect(left).toEqual([0, 0].map((count) => ({ pid: expect.any(Number), left: count })));
  expect(left[0].pid).not.toBe(left[1].pid);
});
