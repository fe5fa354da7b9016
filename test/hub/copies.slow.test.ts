import { expect } from "vitest";
import { retainProject } from "../../src/hub/administration.ts";
import { openHub } from "../../src/hub/index.ts";
import type { Session, Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { takeIdBlock } from "../../src/store/changes/id-blocks.ts";
import { blockOf } from "../../src/store/derived/id-block.ts";
import { CuttingProxy } from "../support/cutting-proxy.ts";
import { copiedStore, hubWithStores, openedConnection, openedHub, readyDatabase, run, test } from "../support/hub.ts";
import { expectOnHub } from "../support/pushed.ts";
import { talk, user } from "../support/said.ts";
import { temporaryStore } from "../support/temporary-store.ts";

// Copies of two kinds: what was pulled from a hub, and a copy of a store's file.

const WEB = { projects: ["web"] };
const FORGETTING = { ...WEB, forgotten: "forget" } as const;

function titleOf(store: Store, id: string): string | null {
  return store.resume(id).info().title;
}

function textsOf(session: Session): string[] {
  return session.messages().map(({ text }) => text);
}

function forgetNotes(store: Store): void {
  internalsOf(store).repositories.database.client.exec("DELETE FROM store_settings WHERE name LIKE 'hub %'");
}

test.each(["before", "after"])(
  "what a store forgets %s its copy has pushed is left nowhere, also if it was said twice",
  async (when) => {
    const { hub, store, copy } = await copiedStore();
    const session = store.session("s", { project: "web" });
    session.append(user("the beginning"));
    await hub.push(store, WEB);
    const said = session.append(["one", "secret", "two", "secret", "three"].map((text) => user(text)));
    const copied = await copy();
    if (when === "after") await hub.push(copied, WEB);
    store.forget("s", { messageIds: [said[1]!.messageId, said[3]!.messageId] });
    for (const one of [store, copied, store, copied]) await hub.push(one, FORGETTING);
    const textsIn = (one: Store) => textsOf(one.resume("s"));
    expect([textsIn(store), textsIn(copied)]).toEqual(Array(2).fill(["the beginning", "one", "two", "three"]));
    const away = temporaryStore();
    await hub.pull(away, "s");
    expect(textsIn(away)).toEqual(textsIn(store));
  },
);

test("forgetting a copy forgets it there only, and it may be pulled again", async () => {
  const { url, hub, home, away } = await hubWithStores();
  home.session("s", { project: "web" }).append(talk(10));
  await hub.push(home, WEB);
  await hub.pull(away, "s");
  away.session("own", { project: "web" }).append(talk(1));
  await hub.push(away, WEB);
  expect(away.forget("s", { dryRun: true })).toMatchObject({ isCopy: true });
  expect(away.forget("s")).toMatchObject({ isCopy: true, messageCount: 10 });
  expect(await hub.push(away, WEB)).toMatchObject({ gone: [] });
  expect(await hub.push(home, WEB)).toMatchObject({ gone: [] });
  expect(home.resume("s").messages()).toHaveLength(10);

  expect(await hub.pull(away, "s")).toMatchObject({ outcome: "new", messageCount: 10 });
  away.forget("s");
  expect(await hub.pull(away, "s", { take: true })).toMatchObject({ outcome: "new", isHolder: true });
  expect(away.forget("s")).toMatchObject({ isCopy: false });
  await expect(hub.pull(away, "s")).rejects.toMatchObject({ code: "SESSION_FORGOTTEN" });
  await hub.push(away, WEB);
  expect(await hub.push(home, WEB)).toMatchObject({ gone: [], kept: ["s"] });
  expect(await hub.push(home, FORGETTING)).toMatchObject({ gone: ["s"], kept: [] });
  expect(home.sessions()).toEqual([]);
  expect(
    await run(
      url,
      "SELECT 1 FROM coppice.messages m JOIN coppice.sessions s USING (session_no) WHERE session_id = 's'",
    ),
  ).toEqual([]);
});

test("a store that lost a session forgets it for all until it knows of the loss, and then for itself", async () => {
  const { hub, home, away } = await hubWithStores();
  for (const id of ["told", "untold"]) home.session(id, { project: "web" }).append(talk(4));
  await hub.push(home, WEB);
  for (const id of ["told", "untold"]) await hub.pull(away, id, { take: true });
  expect(await hub.push(home, { sessions: ["told"] })).toMatchObject({ moved: ["told"] });
  expect(home.forget("told")).toMatchObject({ isCopy: true });
  expect(home.forget("untold")).toMatchObject({ isCopy: false });
  await hub.push(home, WEB);
  expect(await hub.push(away, WEB)).toMatchObject({ gone: ["untold"] });
  expect(away.sessions().map(({ id }) => id)).toEqual(["told"]);
});

test("a session under the id of a forgotten copy is the store's own", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("s", { project: "web" }).append(talk(4));
  await hub.push(home, WEB);
  await hub.pull(away, "s", { take: true });
  await hub.pull(home, "s", { take: true });
  await hub.push(away, WEB); // which tells it that it has a copy
  away.forget("s");
  away.session("s", { project: "web" }).append(user("mine"));
  expect(await hub.push(away, WEB)).toMatchObject({ messageCount: 1, moved: [], gone: [] });
  away.forget("s");
  await hub.push(away, WEB);
  expect(await hub.push(home, WEB)).toMatchObject({ gone: [] });
  expect(home.resume("s").messages()).toHaveLength(4);
});

test.each([
  { known: "web", pushed: "web" },
  { known: "api", pushed: "web" },
  { known: "api", pushed: "api" },
])(
  "a session stays forgotten, and no copy brings it: the hub knows $known, the store pushes $pushed",
  async (projects) => {
    const { url, hub, store, copy } = await copiedStore();
    const { known, pushed } = projects;
    store.session("other", { project: known }).append(talk(1));
    await hub.push(store, { projects: [known] });
    store.session("s", { project: "web" }).append(talk(4));
    const other = await copy();
    store.forget("s");
    await hub.push(store, { projects: [pushed] });
    expect(await hub.push(other, WEB)).toMatchObject({ gone: [] });
    await hub.push(store, { projects: [pushed] });
    expect(other.resume("s").messages()).toHaveLength(4);
    expect(await run(url, "SELECT session_id FROM coppice.sessions WHERE message_count > 0")).toEqual([
      { session_id: "other" },
    ]);
  },
);

test("what a copy of the file forgot before the hub had it comes to the hub from no other copy", async () => {
  for (const isOwnPush of [false, true]) {
    const { url, hub, store, copy } = await copiedStore();
    store.session("other", { project: "web" }).append(user("pushed"));
    await hub.push(store, WEB);
    store.session("s", { project: "web" }).append(talk(4));
    const other = await copy();
    const secret = store.resume("s").messages({ last: 1 })[0]!;
    store.forget("s", { messageIds: [secret.id] });
    if (isOwnPush) store.resume("s").append(user("more"));
    await hub.push(store, WEB);
    expect(await hub.push(other, FORGETTING)).toMatchObject({ diverged: [] });
    expect(await run(url, "SELECT FROM coppice.messages WHERE message_id = $1", [secret.id])).toEqual([]);
    expect(other.resume("s").messages()).toHaveLength(3);
    await expectOnHub(url, store, "s");
  }
});

test("an older copy of a file does not overwrite newer titles, items and entries, until it has pulled them", async () => {
  const { url, hub, store, copy } = await copiedStore();
  store.session("s", { project: "web" }).append(talk(40));
  await hub.push(store, WEB);
  const older = await copy();
  store.resume("s").update({ title: "new title" });
  store.resume("s").entries.append([{ id: "e", value: 1 }]);
  store.items.put(["n"], "k", "v", { session: "s" });
  await hub.push(store, WEB);
  for (let round = 0; round < 2; round++) {
    expect(await hub.push(older, WEB)).toMatchObject({ behind: ["s"], sessionCount: 0 });
    await expectOnHub(url, store, "s");
  }
  expect(await hub.pull(older, "s")).toMatchObject({ outcome: "continued", isHolder: true });
  expect(titleOf(older, "s")).toBe("new title");
  older.resume("s").update({ title: "newest title" });
  expect(await hub.push(older, WEB)).toMatchObject({ sessionCount: 1, behind: [] });
  expect(await hub.push(store, WEB)).toMatchObject({ behind: ["s"] });
  expect((await hub.sessions()).map(({ title }) => title)).toEqual(["newest title"]);
});

/** The values of the items of a session, by key. */
function itemsOf(store: Store): Record<string, unknown> {
  return Object.fromEntries(store.items.list(["n"]).map(({ key, value }) => [key, value]));
}

test("a pull takes the title and items that only the hub has changed, and keeps those that only the store has changed", async () => {
  // With a message of its own, the store has more than the hub; with one on the hub, less.
  for (const goesOn of ["here", "there", "nowhere"]) {
    const { hub, store, copy } = await copiedStore();
    const put = (to: Store, key: string, value: string) => to.items.put(["n"], key, value, { session: "s" });
    store.session("s", { project: "web" }).append(talk(4));
    store.resume("s").update({ title: "old title" });
    for (const key of ["kept", "changed", "deleted"]) put(store, key, "old");
    await hub.push(store, WEB);
    const other = await copy();
    put(store, "changed", "new");
    put(store, "added", "new");
    store.items.delete(["n"], "deleted");
    if (goesOn === "there") store.resume("s").append(user("more"));
    await hub.push(store, WEB);
    other.resume("s").update({ title: "own title" });
    if (goesOn === "here") other.resume("s").append(user("more"));
    const { notes } = await hub.pull(other, "s");
    expect(notes, goesOn).toEqual([]);
    expect(titleOf(other, "s"), goesOn).toBe("own title");
    expect(itemsOf(other), goesOn).toEqual({ kept: "old", changed: "new", added: "new" });
    expect(await hub.push(other, WEB)).toMatchObject({ sessionCount: 1, behind: [], diverged: [] });
    await hub.pull(store, "s");
    expect(titleOf(store, "s")).toBe("own title");
    expect(itemsOf(store)).toEqual(itemsOf(other));
  }
});

test("a pull says what it replaces of what the store has changed, too", async () => {
  const { hub, store, copy } = await copiedStore();
  store.session("s", { project: "web" }).append(talk(4));
  await hub.push(store, WEB);
  const other = await copy();
  for (const [name, to] of Object.entries({ hub: store, own: other })) {
    to.resume("s").update({ title: `${name} title` });
    for (const key of ["both", name]) to.items.put(["n"], key, name, { session: "s" });
  }
  other.resume("s").append(user("more"));
  await hub.push(store, WEB);
  const { notes } = await hub.pull(other, "s");
  expect(notes).toEqual([
    'The title "own title" of this store was replaced with the one that came.',
    'The item "both" of this store was replaced with the one that came.',
  ]);
  expect([titleOf(other, "s"), itemsOf(other)]).toEqual(["hub title", { both: "hub", hub: "hub", own: "own" }]);
});

test("a session that a hub of version 3 has with its vectors is no other after the upgrade", async () => {
  const url = await readyDatabase();
  const [hub, store] = [await openedHub(url), temporaryStore()];
  store.session("s", { project: "web" }).append(talk(4));
  await hub.push(store, WEB);
  await run(
    url,
    `INSERT INTO coppice.facts (place, session_no, kind, chunk, team, digest, body)
     SELECT place, session_no, 'vectors', 0, team, '\\x01', '\\x01' FROM coppice.facts WHERE kind = 'origin'`,
  );
  forgetNotes(store); // older stores have none
  expect(await hub.push(store, WEB)).toMatchObject({ behind: [], sessionCount: 1 });
  expect(await run(url, "SELECT FROM coppice.facts WHERE kind = 'vectors'")).toEqual([]);
  expect(await hub.push(store, WEB)).toMatchObject({ behind: [], sessionCount: 0 });
});

test("a store without notes asks the hub first, unless both have the same", async () => {
  const { hub, store, copy } = await copiedStore();
  store.session("other", { project: "web" }).append(talk(1));
  await hub.push(store, WEB);
  store.session("s", { project: "web" }).append(talk(4));
  const before = await copy(); // without notes of this session
  store.resume("s").update({ title: "new title" });
  await hub.push(store, WEB);
  expect(await hub.push(before, WEB)).toMatchObject({ behind: ["s"] });

  forgetNotes(store);
  expect(await hub.push(store, WEB)).toMatchObject({ behind: [], sessionCount: 0 });
  forgetNotes(store);
  store.resume("s").update({ title: "newest title" });
  expect(await hub.push(store, WEB)).toMatchObject({ behind: ["s"] });
  expect(await hub.pull(store, "s")).toMatchObject({ outcome: "continued" });
  expect(await hub.push(store, WEB)).toMatchObject({ behind: [] });
});

test("a fork by a pull whose answer was lost has the result of the first attempt", async () => {
  const { url, hub, home, away } = await hubWithStores();
  const proxy = new CuttingProxy(url);
  const cut = await openHub(await proxy.listen());
  const prepared = async (id: string): Promise<void> => {
    home.session(id, { project: "web" }).append(talk(4));
    await hub.push(home, { sessions: [id] });
    await hub.pull(away, id, { take: true });
    away.resume(id).append(user("away"));
    await hub.push(away, { sessions: [id] });
    home.resume(id).append(user("at home"));
  };
  let isCut = true;
  for (let statement = 1; isCut; statement++) {
    const id = `s${statement}`;
    await prepared(id);
    proxy.cutAt({ side: "after", statement });
    const { forkId, outcome, messageCount, isHolder } = await cut.pull(home, id, { take: true, fork: true });
    isCut = !proxy.isArmed;
    proxy.cutAt(undefined);
    expect({ outcome, messageCount, isHolder }, id).toEqual({ outcome: "continued", messageCount: 1, isHolder: true });
    expect(home.resume(forkId!).messages()).toMatchObject([{ text: "at home" }]);
    expect(home.sessions().filter(({ parentSessionId }) => parentSessionId === id)).toHaveLength(1);
  }
  await cut.close();
  await proxy.close();
});

test("a fork has the entries, items and superseded messages that only this store had, and what was forgotten stays so", async () => {
  const { url, hub, home, away } = await hubWithStores();
  const session = home.session("s", { project: "web" });
  session.append(talk(10));
  session.entries.append([{ id: "shared", value: 0 }]);
  home.items.put(["n"], "shared", 0, { session: "s" });
  await hub.push(home, WEB);
  await hub.pull(away, "s", { take: true });
  away.resume("s").append(user("away"));
  await hub.push(away, WEB);

  const secret = session.messages()[3]!;
  home.forget("s", { messageIds: [secret.id] });
  session.append([user("first"), user("wrong")]);
  session.rewind({ toSeq: 10 });
  session.entries.append([{ id: "before", value: 1 }]);
  session.append(user("second"));
  session.entries.append([{ id: "after", value: 2 }]);
  home.items.put(["n"], "own", 3, { session: "s" });

  const { forkId, notes } = await hub.pull(home, "s", { take: true, fork: true });
  const fork = home.resume(forkId!);
  expect(fork.messages().map(({ text }) => text)).toEqual(["first", "second"]);
  expect(fork.entries.list().map(({ id, beforeSeq, value }) => [id, beforeSeq, value])).toEqual([
    ["before", 1, 1],
    ["after", 2, 2],
  ]);
  expect(home.items.list(["n"]).map(({ key, session: of }) => [key, of])).toEqual([
    ["own", forkId],
    ["shared", "s"],
  ]);
  const [, superseded] = /are in session (\S+)\./.exec(notes.join(" ")) ?? [];
  expect(home.resume(superseded!).messages()).toMatchObject([{ text: "wrong" }]);
  expect(home.resume("s").entries.list()).toMatchObject([{ id: "shared" }]);
  const idsIn = (store: Store): number[] =>
    store
      .resume("s")
      .messages()
      .map(({ id }) => id);
  expect(idsIn(home)).toEqual(idsIn(away).filter((id) => id !== secret.id));
  expect(home.verify()).toMatchObject({ ok: true, problems: [] });
  await hub.push(home, WEB);
  expect(await run(url, "SELECT 1 FROM coppice.messages WHERE message_id = $1", [secret.id])).toEqual([]);
});

test("what was forgotten on the hub and is shared by a fork does not keep other sessions from being pushed", async () => {
  const { hub, home, away } = await hubWithStores();
  for (const id of ["a", "b"]) home.session(id, { project: "web" }).append(talk(6));
  await hub.push(home, WEB);
  for (const id of ["a", "b"]) await hub.pull(away, id, { take: true });
  for (const id of ["a", "b"])
    home
      .resume(id)
      .fork({ id: `fork of ${id}` })
      .append(user("the fork goes on"));
  away.forget("a");
  away.forget("b", { messageIds: [away.resume("b").messages()[2]!.id] });
  await hub.push(away, WEB);

  home.session("z", { project: "web" }).append(user("another one"));
  await expect(hub.push(home, FORGETTING)).rejects.toMatchObject({ code: "SESSION_SHARED" });
  expect((await hub.sessions()).map(({ sessionId }) => sessionId)).toContain("z");
  for (const id of ["a", "b"]) home.forget(`fork of ${id}`);
  expect(await hub.push(home, FORGETTING)).toMatchObject({ gone: ["a"], moved: ["b"] });
  expect(home.resume("b").messages()).toHaveLength(5);
});

test("a pull after an undo that was not pushed finds nothing new, and the undo stays", async () => {
  const { hub, store } = await copiedStore();
  const session = store.session("s", { project: "web" });
  session.append(talk(6));
  session.rewind({ toSeq: 2 });
  session.append(user("another way"));
  await hub.push(store, WEB);
  session.undo();
  const texts = textsOf(session);
  for (const take of [false, true]) {
    expect(await hub.pull(store, "s", { take, fork: true })).toMatchObject({ outcome: "known", forkId: null });
  }
  expect(textsOf(session)).toEqual(texts);
});

test("an older file deletes no message on the hub whose seq a message had that was forgotten in it", async () => {
  const { hub, store: home, copy } = await copiedStore();
  const session = home.session("s", { project: "web" });
  const [, first, second] = session.append(talk(3));
  home.forget("s", { messageIds: [second!.messageId] });
  await hub.push(home, WEB);
  const older = await copy();
  session.rewind({ toMessageId: first!.messageId });
  expect(session.append(user("kept")).seq).toBe(second!.seq);
  await hub.push(home, WEB);
  expect(await hub.push(older, WEB)).toMatchObject({ behind: ["s"] });
  const away = temporaryStore();
  await hub.pull(away, "s");
  expect(away.resume("s").messages({ last: 1 })[0]!.text).toBe("kept");
});

test("a pull deletes no message of the store whose seq a message had that a colleague has forgotten", async () => {
  const { hub, home, away } = await hubWithStores();
  const session = home.session("s", { project: "web" });
  session.append(talk(2));
  await hub.push(home, WEB);
  await hub.pull(away, "s", { take: true });
  const [theirs] = away.resume("s").append([user("theirs"), user("theirs, too")]);
  away.forget("s", { messageIds: [theirs!.messageId] });
  await hub.push(away, WEB);
  expect(session.append(user("mine")).seq).toBe(theirs!.seq);
  await expect(hub.pull(home, "s")).rejects.toMatchObject({ code: "SESSION_DIVERGED" });
  expect(session.messages({ last: 1 })[0]!.text).toBe("mine");
});

/** A store and a copy of its file, which have both appended one message, under the same id. */
async function goneOnInTwo() {
  const { hub, store: home, copy } = await copiedStore();
  home.session("s", { project: "web" }).append(talk(4));
  home.forget("s", { messageIds: [home.resume("s").messages()[0]!.id] }); // both have the same key of tombstones
  await hub.push(home, WEB);
  const other = await copy();
  const { messageId } = home.resume("s").append(user("said at home"));
  expect(other.resume("s").append(user("said elsewhere")).messageId).toBe(messageId);
  await hub.push(home, WEB);
  return { hub, home, other, messageId };
}

test("a message stays if another copy of the file has forgotten one of the same id", async () => {
  const { hub, home, other, messageId } = await goneOnInTwo();
  home.forget("s", { messageIds: [messageId] });
  await hub.push(home, WEB);
  expect(await hub.push(other, WEB)).toMatchObject({ diverged: ["s"] });
  await expect(hub.pull(other, "s")).rejects.toMatchObject({ code: "SESSION_DIVERGED" });
  expect(other.resume("s").messages({ last: 1 })[0]!.text).toBe("said elsewhere");
  const { forkId } = await hub.pull(other, "s", { fork: true });
  expect(other.resume(forkId!).messages()).toMatchObject([{ text: "said elsewhere" }]);
});

test("a copy of the file that forgot a message deletes none of the same id", async () => {
  const { hub, other, messageId } = await goneOnInTwo();
  other.forget("s", { messageIds: [messageId] });
  expect(await hub.push(other, WEB)).toMatchObject({ behind: ["s"] });
  await hub.pull(other, "s");
  expect(other.resume("s").messages({ last: 1 })[0]!.text).toBe("said at home");
  await hub.push(other, WEB);
  const away = temporaryStore();
  await hub.pull(away, "s");
  expect(away.resume("s").messages({ last: 1 })[0]!.text).toBe("said at home");
});

test("a fork does not bring back what was forgotten on the hub", async () => {
  const { hub, home, other } = await goneOnInTwo();
  const [secret] = home.resume("s").messages();
  home.forget("s", { messageIds: [secret!.id] });
  await hub.push(home, WEB);
  const { forkId } = await hub.pull(other, "s", { fork: true, forget: true });
  expect(other.resume(forkId!).messages()).toMatchObject([{ text: "said elsewhere" }]);
});

test("what one store has forgotten stays so after a store with another key of tombstones has taken the session", async () => {
  const { hub, home, away } = await hubWithStores();
  const copy = temporaryStore();
  const { repositories } = internalsOf(away);
  repositories.database.write("test", () => takeIdBlock(repositories, 2));
  const [own] = away.session("own").append(talk(2));
  away.forget("own", { messageIds: [own!.messageId] });
  const [, secret] = home.session("s", { project: "web" }).append(talk(4));
  await hub.push(home, WEB);
  await hub.pull(copy, "s");
  home.forget("s", { messageIds: [secret!.messageId] });
  await hub.push(home, WEB);
  const { notes } = await hub.pull(away, "s", { take: true });
  expect(notes.join()).toContain("What was forgotten of it comes back");
  const [, , third] = away.resume("s").messages();
  away.forget("s", { messageIds: [third!.id] });
  await hub.push(away, { sessions: ["s"] });

  copy.resume("s").append(user("mine"));
  await expect(hub.pull(copy, "s")).rejects.toMatchObject({ code: "SESSION_DIVERGED" });
  const { forkId } = await hub.pull(copy, "s", { fork: true });
  expect(copy.resume(forkId!).messages()).toMatchObject([{ text: "mine" }]);
  expect(copy.resume("s").messages()).toHaveLength(2);
});

test("a session of which all messages were forgotten can be taken, and gives way to what another store has", async () => {
  const { hub, home, away } = await hubWithStores();
  const { messageId } = home.session("s", { project: "web" }).append(user("secret"));
  await hub.push(home, WEB);
  await hub.pull(away, "s", { take: true });
  away.forget("s", { messageIds: [messageId] });
  await hub.push(away, WEB);
  home.resume("s").append(user("mine"));
  const { forked } = await hub.push(home, { ...FORGETTING, fork: true });
  expect(home.resume(forked[0]!.forkId).messages()).toMatchObject([{ text: "mine" }]);
  expect(home.resume("s").messages()).toEqual([]);
  expect(await hub.pull(home, "s", { take: true })).toMatchObject({ isHolder: true });
  home.resume("s").append(user("more"));
  expect(await hub.push(home, WEB)).toMatchObject({ moved: [], messageCount: 1 });
});

/** A hub, a store whose session another one has taken, and a function that pushes what only the first store has, as a fork. */
async function takenSession() {
  const { url, hub, home, away } = await hubWithStores();
  const session = home.session("s", { project: "web" });
  session.append(talk(4));
  await hub.push(home, WEB);
  await hub.pull(away, "s", { take: true });
  const sent = async (): Promise<Session> => {
    const { forked } = await hub.push(home, { ...FORGETTING, sessions: ["s"], fork: true });
    expect(forked).toHaveLength(1);
    return home.resume(forked[0]!.forkId);
  };
  return { url, hub, home, away, session, sent };
}

test("what a store says after its fork was forgotten on the hub is in a new one, without what was forgotten", async () => {
  const { hub, home, away, session, sent } = await takenSession();
  session.append(user("first", { id: "m1" }));
  const first = await sent();
  await hub.pull(away, first.id, { take: true });
  away.forget(first.id);
  await hub.push(away, WEB);
  session.append([user("first", { id: "m1" }), user("second", { id: "m2" })]); // as an import of the transcript does
  const second = await sent();
  expect(textsOf(second)).toEqual(["second"]);
  expect(
    home
      .sessions()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["s", second.id].sort());
  session.append(user("third", { id: "m3" }));
  expect(textsOf(await sent())).toEqual(["second", "third"]);
});

test("what was forgotten of a fork is brought back by no transcript", async () => {
  const { home, session, sent } = await takenSession();
  const said = ["m1", "m2", "m3"].map((id) => user(`said as ${id}`, { id }));
  session.append(said);
  const fork = await sent();
  home.forget(fork.id, { messageIds: [fork.messages()[0]!.id] });
  session.append([...said, user("more", { id: "m4" })]);
  expect(textsOf(await sent())).toEqual(["said as m2", "said as m3", "more"]);
  home.forget(fork.id);
  session.append([...said, user("more", { id: "m4" }), user("new", { id: "m5" })]);
  expect(textsOf(await sent())).toEqual(["new"]);
});

test("what was forgotten of a fork can be imported again after it was restored", async () => {
  const { hub, home, session, sent } = await takenSession();
  const said = ["m1", "m2", "m3"].map((id) => user(`said as ${id}`, { id }));
  session.append(said);
  const fork = await sent();
  const [first, second] = fork.messages();
  for (const { id } of [first!, second!]) home.forget(fork.id, { messageIds: [id] });
  await hub.push(home, WEB);
  expect(home.restore(fork.id, { messageIds: [first!.id] })).toBe(true);
  session.append([...said, user("more", { id: "m4" })]);
  expect(textsOf(await sent()).sort()).toEqual(["more", "said as m1", "said as m3"]);
  home.forget(fork.id);
  await hub.push(home, WEB);
  expect(home.restore(fork.id)).toBe(true);
  session.append([...said, user("last", { id: "m5" })]);
  expect(textsOf(await sent())).toEqual(["said as m1", "said as m2", "said as m3", "last"]);
});

test.each([
  ["restored", false],
  ["imported again", true],
])("what was forgotten and %s before the next push leaves the hub with it", async (_, isImported) => {
  const { url, hub, home, away, session, sent } = await takenSession();
  const said = ["m1", "m2", "m3"].map((id) => user(`said as ${id}`, { id }));
  session.append(said);
  const fork = await sent();
  await hub.pull(away, fork.id);
  const [first] = fork.messages();
  home.forget(fork.id, { messageIds: [first!.id] });
  expect(home.restore(fork.id, { messageIds: [first!.id] })).toBe(true);
  session.append(isImported ? [...said, user("more", { id: "m4" })] : [user("more", { id: "m4" })]);
  await sent();
  const expected = ["said as m2", "said as m3", ...(isImported ? ["said as m1"] : []), "more"];
  expect(textsOf(fork)).toEqual(expected);
  expect(await hub.push(home, WEB)).toMatchObject({ behind: [], diverged: [], sessionCount: 0 });
  expect(await run(url, "SELECT FROM coppice.messages WHERE message_id = $1", [first!.id])).toEqual([]);
  await expectOnHub(url, home, fork.id);
  await hub.push(away, WEB); // forgets the message there
  await hub.pull(away, fork.id);
  expect(textsOf(away.resume(fork.id))).toEqual(expected);
});

test("a message of a fork that has grown or was changed goes on in a second one", async () => {
  const { session, sent } = await takenSession();
  const message = (...texts: string[]) => {
    return { role: "assistant" as const, id: "m1", parts: texts.map((text) => ({ type: "text" as const, text })) };
  };
  for (const texts of [["one"], ["one", "two"], ["one", "two", "three"], ["changed"], ["changed"]]) {
    session.append(message(...texts));
    session.append(user(`after ${texts.length} ${texts[0]}`));
    await sent();
  }
  session.append(user("last"));
  expect(textsOf(await sent())).toEqual([
    ...["one", "after 1 one", "two", "after 2 one", "three", "after 3 one"],
    ...["changed", "after 1 changed", "after 1 changed", "last"],
  ]);
});

test("a store that meets a copy of its file gives ids from another block", async () => {
  const { hub, home, other, messageId } = await goneOnInTwo();
  const next = (store: Store): number => store.session("t", { project: "web" }).append(user("more")).messageId;
  expect(next(home)).toBe(messageId + 1);
  const [first, second] = [await hub.push(other, WEB), next(other)];
  expect(first).toMatchObject({ diverged: ["s"] });
  expect(blockOf(second)).toBeGreaterThan(blockOf(messageId));
  await hub.push(other, WEB);
  expect(blockOf(next(other))).toBe(blockOf(second)); // once, and not with every push
  const { forkId } = await hub.pull(other, "s", { fork: true });
  const [forked] = other.resume(forkId!).messages();
  expect(blockOf(forked!.id)).toBe(blockOf(second));
});

test("a fork gets ids from another block than what a copy of the file has pushed", async () => {
  const { hub, other, messageId } = await goneOnInTwo();
  const { forkId } = await hub.pull(other, "s", { fork: true });
  const [forked] = other.resume(forkId!).messages();
  expect(blockOf(forked!.id)).toBeGreaterThan(blockOf(messageId));
});

test("a block of ids that a store has taken is given to no other, even if the pull is rolled back", async () => {
  const url = await readyDatabase();
  const [hub, home] = [await openedHub(url), temporaryStore()];
  const proxy = new CuttingProxy(url);
  const cut = await openHub(await proxy.listen());
  home.session("s", { project: "web" }).append(talk(4));
  await hub.push(home, WEB);
  const blocks: number[] = [];
  let isCut = true;
  for (let statement = 7; isCut; statement++) {
    const away = temporaryStore();
    proxy.cutAt({ side: "before", statement });
    await cut.pull(away, "s", { take: true });
    isCut = !proxy.isArmed;
    proxy.cutAt(undefined);
    blocks.push(blockOf(away.session("own").append(user("mine")).messageId));
  }
  expect(new Set(blocks).size).toBe(blocks.length);
  await cut.close();
  await proxy.close();
});

test("more days than the server can subtract keep a session, and are refused where they are set", async () => {
  const url = await readyDatabase();
  const [hub, home] = [await openedHub(url), temporaryStore()];
  home.session("s", { project: "web" }).append(user("kept"));
  await hub.push(home, WEB);
  await run(url, "UPDATE coppice.places SET retention_days = 2147483647");
  expect(await hub.keep()).toMatchObject({ expiredCount: 0 });
  expect(await hub.sessions()).toHaveLength(1);
  const connection = await openedConnection(url);
  for (const days of [0, 1.5, 100_000, 2 ** 31]) {
    await expect(retainProject(connection, "web", days)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  }
});

test("two stores' sessions of one id are told apart by their origins, and a pull goes on with the one that the store has", async () => {
  const { hub, home, away } = await hubWithStores();
  for (const [store, text] of [
    [home, "at home"],
    [away, "away"],
  ] as const) {
    store.session("s", { project: "web" }).append(user(text));
    await hub.push(store, WEB);
  }
  const [older, newer] = (await hub.sessions()).map(({ origin }) => origin).reverse();
  const third = temporaryStore();
  await expect(hub.pull(third, "s")).rejects.toMatchObject({
    code: "OPTION_INVALID",
    details: { option: "origin", expected: expect.stringMatching(`(${older}|${newer}).*(${older}|${newer})`) },
  });
  await hub.pull(third, "s", { origin: newer! });
  expect(third.resume("s").messages({ last: 1 })[0]!.text).toBe("away");
  expect(await hub.pull(third, "s")).toMatchObject({ outcome: "known" });
  expect(await hub.pull(home, "s")).toMatchObject({ outcome: "known" });
  await expect(hub.pull(temporaryStore(), "s", { origin: "none" })).rejects.toMatchObject({
    code: "SESSION_NOT_FOUND",
  });
});
