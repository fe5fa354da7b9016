import { expect } from "vitest";
import type { Store } from "../../src/index.ts";
import { copiedStore, hubWithStores, run, test } from "../support/hub.ts";
import { talk, user } from "../support/said.ts";
import { temporaryStore } from "../support/temporary-store.ts";

// What began in a store is never deleted by another's word.

const WEB = { projects: ["web"] };
const THREE = [user("one"), user("two"), user("three")];
const FORGOTTEN_BY_A_MEMBER = "UPDATE coppice.sessions SET forgotten_at = now()";

function textsIn(store: Store, id = "s"): string[] {
  return store
    .resume(id)
    .messages()
    .map(({ text }) => text);
}

function advised(store: Store): string[] {
  return store.doctor().flatMap(({ check, text }) => (check === "hub" ? text : []));
}

/** A hub that has a session of the store `home`, and of which somebody says by SQL that it was forgotten. */
async function forgottenByMember() {
  const stores = await hubWithStores();
  stores.home.session("s", { project: "web" }).append(talk(4));
  await stores.hub.push(stores.home, WEB);
  await run(stores.url, FORGOTTEN_BY_A_MEMBER);
  return stores;
}

test("a session that began here is kept and named until the person says what becomes of it", async () => {
  const { hub, home } = await forgottenByMember();
  const texts = textsIn(home);
  for (let times = 0; times < 2; times++) {
    expect(await hub.push(home, WEB)).toMatchObject({ kept: ["s"], gone: [], sessionCount: 0 });
    expect(textsIn(home)).toEqual(texts);
    expect(advised(home)).toEqual([expect.stringMatching(/1 session .*: s\.$/)]);
  }
  expect(await hub.push(home, { ...WEB, forgotten: "keep" })).toMatchObject({ kept: [], gone: [], sessionCount: 0 });
  expect(await hub.push(home, WEB)).toMatchObject({ kept: [], gone: [], sessionCount: 0 });
  expect(advised(home)).toEqual([]);
  expect(textsIn(home)).toEqual(texts);
  expect(await hub.push(home, { ...WEB, forgotten: "forget" })).toMatchObject({ kept: [], gone: ["s"] });
  expect(home.sessions()).toEqual([]);
});

test("a session that was forgotten on the hub is sent again, as often as it is asked, and forgotten at last", async () => {
  const { url, hub, home, away } = await forgottenByMember();
  const texts = textsIn(home);
  await hub.push(home, WEB);
  for (let times = 0; times < 2; times++) {
    expect(await hub.push(home, { ...WEB, forgotten: "send" })).toMatchObject({ messageCount: 4, kept: [], gone: [] });
    expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 0, kept: [], gone: [] });
    expect(advised(home)).toEqual([]);
    expect(await hub.sessions()).toMatchObject([{ sessionId: "s", messageCount: 4 }]);
    await run(url, FORGOTTEN_BY_A_MEMBER);
    expect(await hub.push(home, WEB)).toMatchObject({ kept: ["s"] });
  }
  await hub.push(home, { ...WEB, forgotten: "send" });
  await hub.pull(away, "s");
  expect(textsIn(away)).toEqual(texts);
  home.forget("s");
  await hub.push(home, WEB);
  expect(await hub.sessions()).toEqual([]);
  expect(await hub.push(away, WEB)).toMatchObject({ kept: [], gone: ["s"] });
  expect(away.sessions()).toEqual([]);
});

test("messages that a colleague forgets in a taken session stay where it began, and go where it was pulled", async () => {
  const { url, hub, home, away } = await hubWithStores();
  const session = home.session("s", { project: "web" });
  session.append(THREE);
  await hub.push(home, WEB);
  await hub.pull(away, "s", { take: true });
  away.forget("s", { messageIds: [away.resume("s").messages()[1]!.id] });
  await hub.push(away, WEB);

  session.append(user("four"));
  const all = ["one", "two", "three", "four"];
  // Nothing that is kept goes to the hub under another name.
  expect(await hub.push(home, { ...WEB, fork: true })).toMatchObject({ moved: ["s"], kept: ["s"], forked: [] });
  for (const options of [{}, { take: true }, { fork: true }, { take: true, fork: true }]) {
    await expect(hub.pull(home, "s", options)).rejects.toMatchObject({
      code: expect.stringMatching(/^(FORGOTTEN_ON_HUB|SESSION_DIVERGED)$/),
    });
    expect(textsIn(home)).toEqual(all);
  }
  expect(await hub.push(home, { ...WEB, forgotten: "send" })).toMatchObject({ messageCount: 4, kept: [] });
  expect((await hub.sessions()).map(({ messageCount }) => messageCount).sort()).toEqual([2, 4]);
  expect(await hub.push(away, WEB)).toMatchObject({ gone: [], kept: [] });
  expect(textsIn(away)).toEqual(["one", "three"]);
  const holders = await run(url, "SELECT DISTINCT holder FROM coppice.sessions");
  expect(holders).toHaveLength(2);
});

test.each(["keep", "forget", "send"] as const)("of messages that a copy of the file forgets: %s", async (forgotten) => {
  const { hub, store, copy } = await copiedStore();
  const session = store.session("s", { project: "web" });
  const said = session.append(THREE);
  await hub.push(store, WEB);
  const other = await copy();
  other.forget("s", { messageIds: [said[1]!.messageId] });
  await hub.push(other, WEB);
  expect(await hub.push(store, WEB)).toMatchObject({ kept: ["s"] });
  expect(textsIn(store)).toEqual(["one", "two", "three"]);
  expect(await hub.push(store, { ...WEB, forgotten })).toMatchObject({ kept: [] });
  expect(textsIn(store)).toEqual(forgotten === "forget" ? ["one", "three"] : ["one", "two", "three"]);
  if (forgotten === "forget") await hub.pull(store, "s");
  session.append(user("four"));
  expect(await hub.push(store, WEB)).toMatchObject({ kept: [], messageCount: forgotten === "keep" ? 0 : 1 });
  if (forgotten === "keep") return;
  const away = temporaryStore();
  await hub.pull(away, "s");
  expect(textsIn(away)).toEqual(textsIn(store));
});

test("a store that is behind and has forgotten something pulls nothing that deletes its own messages", async () => {
  const { hub, store, copy } = await copiedStore();
  const session = store.session("s", { project: "web" });
  const said = session.append(THREE);
  await hub.push(store, WEB);
  const other = await copy();
  other.forget("s", { messageIds: [said[0]!.messageId] });
  await hub.push(other, WEB);
  store.forget("s", { messageIds: [said[2]!.messageId] });
  expect(await hub.push(store, WEB)).toMatchObject({ kept: ["s"] });
  expect(textsIn(store)).toEqual(["one", "two"]);
  await expect(hub.pull(store, "s")).rejects.toMatchObject({ code: "FORGOTTEN_ON_HUB" });
  await hub.push(store, { ...WEB, forgotten: "forget" });
  expect(textsIn(store)).toEqual(["two"]);
});

test("a session stays its store's own when the hub says that it began elsewhere", async () => {
  const { url, hub, home } = await hubWithStores();
  home.session("s", { project: "web" }).append(talk(4));
  await hub.push(home, WEB);
  await run(url, "UPDATE coppice.sessions SET origin = gen_random_uuid()");
  await hub.pull(home, "s");
  await run(url, FORGOTTEN_BY_A_MEMBER);
  expect(await hub.push(home, WEB)).toMatchObject({ kept: ["s"], gone: [] });
  expect(textsIn(home)).toHaveLength(4);
});
