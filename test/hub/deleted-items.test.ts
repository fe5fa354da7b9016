import { readFileSync } from "node:fs";
import { expect } from "vitest";
import type { Hub } from "../../src/hub/index.ts";
import { storedSecrets } from "../../src/imports/stored-secrets.ts";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { noteOnHub } from "../../src/store/index.ts";
import { hubWithStores, talkOf, test } from "../support/hub.ts";
import { SECRETS } from "../support/secrets.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };
const APP = ["app"];

function put(store: Store, key: string, value: string): void {
  store.items.put(APP, key, value, { session: "one" });
}

/** What the items of session "one" say, and its tags. */
function itemsOf(store: Store): Record<string, unknown> {
  const tags = store.resume("one").info().tags;
  return { ...Object.fromEntries(store.items.list(APP).map(({ key, value }) => [key, value])), tags };
}

/** Two stores that both have session "one" with the items `a` and `b` and the tag `hot`. `away` has taken it. */
async function shared(): Promise<{ hub: Hub; home: Store; away: Store }> {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(4));
  put(home, "a", "first");
  put(home, "b", "first");
  home.resume("one").update({ addTags: ["hot"] });
  await hub.push(home, WEB);
  await hub.pull(away, "one", { take: true });
  return { hub, home, away };
}

/** Each store takes the session once and pushes, so that both have seen everything. */
async function settled(hub: Hub, ...stores: Store[]): Promise<void> {
  for (const store of [...stores, ...stores]) {
    await hub.pull(store, "one", { take: true });
    await hub.push(store, WEB);
  }
}

const DELETIONS: Record<string, (store: Store) => void> = {
  "an item": (store) => void store.items.delete(APP, "a"),
  "a tag": (store) => void store.resume("one").update({ removeTags: ["hot"] }),
};
const LEFT: Record<string, unknown> = {
  "an item": { b: "first", tags: ["hot"] },
  "a tag": { a: "first", b: "first", tags: [] },
};

test.each(["an item", "a tag"])("%s that the holder deleted does not come back from another machine", async (what) => {
  const { hub, home, away } = await shared();
  DELETIONS[what]!(away);
  await hub.push(away, WEB);
  await settled(hub, home, away);
  expect([itemsOf(home), itemsOf(away)]).toEqual([LEFT[what], LEFT[what]]);
});

test.each(["an item", "a tag"])("%s that another machine deleted is not put back by the holder", async (what) => {
  const { hub, home, away } = await shared();
  DELETIONS[what]!(home);
  put(away, "c", "by away");
  await hub.push(away, WEB);
  await settled(hub, home, away);
  const left = { ...(LEFT[what] as object), c: "by away" };
  expect([itemsOf(home), itemsOf(away)]).toEqual([left, left]);
});

test.each(["home", "away"] as const)(
  "what one machine has changed stays, though another has deleted it (%s)",
  async (who) => {
    const stores = await shared();
    const { hub, home, away } = stores;
    for (const store of [home, away]) {
      if (store === stores[who]) put(store, "a", "changed");
      else DELETIONS["an item"]!(store);
    }
    await hub.push(away, WEB);
    await settled(hub, home, away);
    const all = { a: "changed", b: "first", tags: ["hot"] };
    expect([itemsOf(home), itemsOf(away)]).toEqual([all, all]);
  },
);

test("an item that is put again after it was deleted is not deleted again", async () => {
  const { hub, home, away } = await shared();
  DELETIONS["an item"]!(away);
  await settled(hub, away, home);
  put(home, "a", "again");
  await settled(hub, home, away);
  const all = { a: "again", b: "first", tags: ["hot"] };
  expect([itemsOf(home), itemsOf(away)]).toEqual([all, all]);
});

test("a store that has not noted what the hub has deletes nothing, and from then on it does", async () => {
  const { hub, home, away } = await shared();
  const { repositories } = internalsOf(home);
  repositories.database.write("test", () => noteOnHub(repositories, "one", { items: undefined }));
  DELETIONS["an item"]!(away);
  put(away, "c", "by away");
  await hub.push(away, WEB);
  await hub.pull(home, "one", { take: true });
  expect(itemsOf(home)).toEqual({ a: "first", b: "first", c: "by away", tags: ["hot"] });
  await settled(hub, home, away);
  DELETIONS["an item"]!(away);
  await hub.push(away, WEB);
  await settled(hub, home, away);
  const left = { b: "first", c: "by away", tags: ["hot"] };
  expect([itemsOf(home), itemsOf(away)]).toEqual([left, left]);
});

/** A store that has another session "one" and other items of some names, so that it took the session under another id and without those. */
async function sharedUnderOtherId(): Promise<{ hub: Hub; home: Store; away: Store; id: string }> {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(4));
  for (const key of ["a", "b"]) put(home, key, SECRET);
  home.resume("one").update({ addTags: ["hot"] });
  await hub.push(home, WEB);
  away.session("one").append(talkOf(2, "another"));
  away.resume("one").update({ addTags: ["hot", "mine"] });
  put(away, "a", "mine");
  const { sessionId: id } = await hub.pull(away, "one", { take: true, project: "web" });
  expect(id).not.toBe("one");
  return { hub, home, away, id };
}

const SECRET = SECRETS["aws-access-key"]!;

test("tags and items of a session that has another id here are deleted and kept as if it had its own", async () => {
  const { hub, home, away, id } = await sharedUnderOtherId();
  expect(away.resume(id).info().tags).toEqual(["hot"]);
  away.resume(id).update({ addTags: ["cold"], removeTags: ["hot"] });
  away.items.delete(APP, "b");
  await hub.push(away, WEB);
  await hub.pull(home, "one", { take: true });
  expect(itemsOf(home)).toEqual({ a: SECRET, tags: ["cold"] });
  home.items.delete(APP, "a");
  put(home, "c", "by home");
  await hub.push(home, WEB);
  await hub.pull(away, id, { take: true });
  expect(itemsOf(away)).toEqual({ a: "mine", c: "by home", tags: ["hot", "mine"] });
  expect(away.resume(id).info().tags).toEqual(["cold"]);
});

test("an item that has no place on one machine reaches a third, and comes once its name is free", async () => {
  const { hub, away, id } = await sharedUnderOtherId();
  put(away, "c", "of another");
  away.resume(id).update({ addTags: ["cold"] });
  await hub.push(away, WEB);
  const third = temporaryStore();
  await hub.pull(third, "one", { take: true });
  expect(itemsOf(third)).toEqual({ a: SECRET, b: SECRET, tags: ["cold", "hot"] });
  put(third, "b", "by third");
  await hub.push(third, WEB);
  away.items.delete(APP, "a");
  await hub.pull(away, id, { take: true });
  expect(away.items.get(APP, "a")).toMatchObject({ value: SECRET, session: id });
});

test("a secret is found in an item that had no place, too, and names the session that holds it", async () => {
  const { away, id } = await sharedUnderOtherId();
  const [aside, stored] = storedSecrets(away, () => {});
  expect(stored).toEqual({ ...aside, place: 'item ["app"] b' });
  expect(aside).toMatchObject({ sessionId: id, messageId: null, place: 'item ["app"] a' });
});

test("when a session is forgotten, no byte stays of its items, nor of those that had no place", async () => {
  const { away, id } = await sharedUnderOtherId();
  const files = (): string => [away.path, `${away.path}-wal`].map((file) => readFileSync(file, "latin1")).join();
  expect(files()).toContain(SECRET);
  away.forget(id);
  expect(files()).not.toContain(SECRET);
});

test("a fork of a session that both have changed has its own items, and those of the other are not deleted with them", async () => {
  const { hub, home, away } = await shared();
  home.resume("one").append(talkOf(1, "home"));
  away.resume("one").append(talkOf(1, "away"));
  await hub.push(away, WEB);
  const { sessionId, forkId } = await hub.pull(home, "one", { take: true, fork: true });
  expect(forkId).toBe("one");
  home.items.delete(APP, "a");
  home.resume("one").update({ removeTags: ["hot"] });
  await hub.push(home, WEB);
  await hub.pull(away, "one", {
    take: true,
    origin: (await hub.sessions()).find(({ messageCount }) => messageCount === 5)!.origin,
  });
  expect(itemsOf(away)).toEqual({ a: "first", b: "first", tags: ["hot"] });
  expect(home.resume(sessionId).info().tags).toEqual(["hot"]);
});
