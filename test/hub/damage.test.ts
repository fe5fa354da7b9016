import Database from "better-sqlite3";
import { expect } from "vitest";
import { follow, unfollow } from "../../src/hub/index.ts";
import type { Store } from "../../src/index.ts";
import { hubWithStores, saidIn, talkOf, test } from "../support/hub.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };
const IDS = ["a", "b", "c"];

/** Rows that do not match their checksums. */
const DAMAGES = {
  "row of the session": "UPDATE sessions SET created_at_ms = 5 WHERE id = 'a'",
  "last message": "UPDATE messages SET created_at_ms = 5 WHERE session_id = 'a' AND seq = 4",
  "note about the hub": `UPDATE store_settings SET value = '{"isCopy":true}' WHERE name = 'hub a'`,
};
const CASES = Object.keys(DAMAGES) as (keyof typeof DAMAGES)[];

function damaged(store: Store, sql: string): Store {
  store.close();
  const file = new Database(store.path);
  file.exec(sql);
  file.close();
  return openedStore(store.path);
}

test.each(CASES)("a damaged %s of a copy keeps no other session from being synced or unfollowed", async (what) => {
  const { hub, home } = await hubWithStores();
  const store = openedStore(temporaryPath());
  for (const id of IDS) home.session(id, { project: "web" }).append(talkOf(5, id));
  await hub.push(home, WEB);
  follow(store, "web");
  await hub.sync(store);
  const away = damaged(store, DAMAGES[what]);
  for (const id of ["a", "b"]) home.resume(id).append(talkOf(2, "more"));
  home.forget("c");
  await hub.push(home, WEB);
  const refused = [{ sessionId: "a", reason: expect.stringContaining("is damaged") }];
  expect(await hub.sync(away)).toMatchObject({ messageCount: 2, forgotten: ["c"], refused });
  expect(saidIn(away, "b")).toEqual(saidIn(home, "b"));
  if (what !== "note about the hub") expect(unfollow(away, "web").sort()).toEqual(["a", "b"]);
  else expect(() => unfollow(away, "web")).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  expect(() => away.resume("b")).toThrow(expect.objectContaining({ code: "SESSION_NOT_FOUND" }));
});

test.each(CASES)("a damaged %s of an own session is named, and the others are pushed", async (what) => {
  const { hub } = await hubWithStores();
  const store = openedStore(temporaryPath());
  for (const id of IDS) store.session(id, { project: "web" }).append(talkOf(5, id));
  await hub.push(store, WEB);
  for (const id of ["b", "c"]) store.resume(id).append(talkOf(2, "more"));
  const home = damaged(store, DAMAGES[what]);
  const named = { code: "STORE_CORRUPT", message: expect.stringContaining('session "a"') };
  await expect(hub.push(home, WEB)).rejects.toMatchObject(named);
  await expect(hub.push(home, { sessions: ["a", "b"] })).rejects.toMatchObject(named);
  const lengths = (await hub.sessions()).map(({ sessionId, messageCount }) => `${sessionId} ${messageCount}`);
  expect(lengths.sort()).toEqual(["a 5", "b 7", "c 7"]);
});
