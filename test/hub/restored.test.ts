import { AsyncLocalStorage } from "node:async_hooks";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, onTestFinished, vi } from "vitest";
import { HubConnection } from "../../src/hub/connection.ts";
import { follow } from "../../src/hub/index.ts";
import type { Store } from "../../src/index.ts";
import {
  asRole,
  emptyDatabase,
  hubWithStores,
  openedHub,
  readyDatabase,
  run,
  saidIn,
  snapshotOf,
  talkOf,
  test,
} from "../support/hub.ts";
import { findPostgres } from "../support/postgres.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };
const IDS = ["one", "two", "six"];

/** Two stores that know more than a backup of their hub has. `olderHub` makes the backup a hub. */
async function afterBackup(
  olderHub: (url: string) => Promise<string>,
): Promise<{ home: Store; away: Store; older: string; owner: string }> {
  const { url, member, hub, home, away } = await hubWithStores();
  for (const id of IDS) home.session(id, { project: "web" }).append(talkOf(20, id));
  await hub.push(home, WEB);
  const older = await olderHub(url);
  home.resume("one").append(talkOf(30, "later"));
  await hub.push(home, { sessions: ["one"] });
  home.resume("one").rewind({ toSeq: 29 });
  home.resume("one").append(talkOf(30, "again"));
  home.forget("two");
  home.forget("six", { messageIds: [home.resume("six").messages()[3]!.id] });
  home.session("new", { project: "web" }).append(talkOf(4, "new"));
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  return { home, away, older: asRole(older, member), owner: new URL(url).username };
}

/** What is on a hub, and in both stores, is what home has. */
async function expectWhole(url: string, home: Store, away: Store): Promise<void> {
  const hub = await openedHub(url);
  expect(await hub.push(home, WEB)).toMatchObject({ forgottenCount: 1, kept: [], diverged: [], behind: [] });
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 0, forgottenCount: 0 });
  expect(await hub.sync(away)).toMatchObject({ forgotten: [], refused: [] });
  const fresh = temporaryStore();
  follow(fresh, "web");
  await hub.sync(fresh);
  for (const store of [away, fresh]) {
    expect(
      store
        .sessions()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(["new", "one", "six"]);
    for (const { id } of home.sessions()) expect(saidIn(store, id)).toEqual(saidIn(home, id));
  }
}

test("a hub that has gone back is refused, and nothing is lost; as another hub it gets what is missing", async () => {
  const { home, away, older, owner } = await afterBackup(snapshotOf);
  const hub = await openedHub(older);
  const refused = { code: "HUB_CHANGED", hint: expect.stringContaining('UPDATE "coppice_test".hub SET id = ') };
  await expect(hub.push(home, WEB)).rejects.toMatchObject(refused);
  const synced = { refused: [{ sessionId: "one", reason: expect.stringContaining("gone back") }], forgotten: [] };
  expect(await hub.sync(away)).toMatchObject(synced);
  for (const { id } of home.sessions()) expect(saidIn(away, id)).toEqual(saidIn(home, id));
  await run(asRole(older, owner), "UPDATE coppice_test.hub SET id = gen_random_uuid()");
  await expectWhole(older, home, away);
});

test("an older hub takes nothing from the whole copies of a session before its own store has pushed it", async () => {
  const { home, away, older, owner } = await afterBackup(snapshotOf);
  await run(asRole(older, owner), "UPDATE coppice_test.hub SET id = gen_random_uuid()");
  const hub = await openedHub(older);
  const refused = [{ sessionId: "one", reason: expect.stringContaining("ends earlier than the copy here") }];
  for (let count = 0; count < 2; count += 1) {
    expect(await hub.sync(away)).toMatchObject({ refused });
    expect(saidIn(away, "one")).toEqual(saidIn(home, "one"));
  }
  await expect(hub.pull(away, "one", { take: true })).rejects.toMatchObject({
    hint: expect.stringContaining("fork one"),
  });
  home.resume("one").append(talkOf(2, "more"));
  await hub.push(home, WEB);
  expect(await hub.sync(away)).toMatchObject({ refused: [] });
  expect(saidIn(away, "one")).toEqual(saidIn(home, "one"));
});

test("what waits for a person's decision is sent to no other hub", async () => {
  const { url, hub, home } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(3));
  await hub.push(home, WEB);
  await run(url, "DELETE FROM coppice_test.sessions");
  expect(await hub.push(home, WEB)).toMatchObject({ kept: ["one"] });
  await run(url, "UPDATE coppice_test.hub SET id = gen_random_uuid()");
  for (let count = 0; count < 2; count += 1) {
    expect(await hub.push(home, WEB)).toMatchObject({ kept: ["one"], messageCount: 0 });
  }
  expect(await hub.push(home, { ...WEB, forgotten: "send" })).toMatchObject({ messageCount: 3 });
});

test("a restored dump is another hub: its numbers are not taken for those of the former one", async () => {
  const restored = async (url: string): Promise<string> => {
    const program = (name: string): string => join(findPostgres(), name);
    const { stdout } = spawnSync(program("pg_dump"), ["--inserts", "--dbname", url], {
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    const empty = await emptyDatabase();
    await run(empty, stdout.replace(/^\\\w+.*$/gm, ""));
    const other = new URL(url);
    other.pathname = new URL(empty).pathname;
    return other.href;
  };
  const { home, away, older } = await afterBackup(restored);
  await expectWhole(older, home, away);
});

test("another hub that is named during a push or a sync gets no numbers of the first", async () => {
  const { hub: first, home, away } = await hubWithStores();
  const second = await openedHub(await readyDatabase());
  const bob = temporaryStore();
  for (const id of ["of bob", "his"]) bob.session(id, { project: "web" }).append(talkOf(3, id));
  await second.push(bob, WEB);
  for (const id of IDS) home.session(id, { project: "web" }).append(talkOf(4, id));
  await first.push(home, { sessions: ["one", "two"] });
  home.resume("one").append(talkOf(3, "more"));
  let crossing: Promise<unknown> | undefined;
  const gone = { code: "HUB_CHANGED" };
  const isOfSecond = new AsyncLocalStorage<true>();
  const whileOther = (store: Store) => () => {
    crossing ??= isOfSecond.run(true, () => second.sync(store));
  };
  const transaction = HubConnection.prototype.transaction;
  vi.spyOn(HubConnection.prototype, "transaction").mockImplementation(async function (this: HubConnection, ...given) {
    if (isOfSecond.getStore() === undefined) await crossing; // however slow the machine is
    return transaction.apply(this, given);
  } as typeof transaction);
  onTestFinished(() => void vi.restoreAllMocks());
  follow(away, null);
  await expect(first.sync(away, { onProgress: whileOther(away) })).rejects.toMatchObject(gone);
  await crossing;
  crossing = undefined;
  await expect(first.push(home, { ...WEB, onProgress: whileOther(home) })).rejects.toMatchObject(gone);
  await crossing;
  await second.sync(away);
  expect(away.sessions().map(({ id }) => id)).toEqual(expect.arrayContaining(["of bob", "his"]));
  expect(await second.push(home, WEB)).toMatchObject({ kept: [], gone: [], forgottenCount: 0, messageCount: 15 });
  await first.push(home, WEB);
  for (const hub of [first, second]) {
    const fresh = temporaryStore();
    for (const id of IDS) {
      await hub.pull(fresh, id);
      expect(saidIn(fresh, id)).toEqual(saidIn(home, id));
      fresh.forget(id);
    }
  }
});
