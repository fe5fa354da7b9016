import { expect, onTestFinished, vi } from "vitest";
import { follow, type Hub, unfollow } from "../../src/hub/index.ts";
import { forgottenOnHub } from "../../src/hub/remote.ts";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { hubNotesOf } from "../../src/store/index.ts";
import {
  afterTransactions,
  copiedStore,
  grantedTo,
  hubWithStores,
  openedHub,
  run,
  saidIn,
  talkOf,
  test,
} from "../support/hub.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };

function idsOf(store: Store): string[] {
  return store
    .sessions()
    .map(({ id }) => id)
    .sort();
}

/** A session that began at home, and with which another store has gone on. */
async function taken(): Promise<{ url: string; hub: Hub; home: Store; away: Store }> {
  const both = await hubWithStores();
  const { hub, home, away } = both;
  home.session("one", { project: "web" }).append(talkOf(6, "home"));
  await hub.push(home, WEB);
  await hub.pull(away, "one", { take: true });
  away.resume("one").append(talkOf(50, "away"));
  await hub.push(away, WEB);
  return both;
}

function forgetFourth(store: Store): void {
  store.forget("one", { messageIds: [store.resume("one").messages()[3]!.id] });
}

test.each([false, true])(
  "forgetting a message keeps what a colleague has added (after a sync: %s)",
  async (isSynced) => {
    const { hub, home, away } = await taken();
    if (isSynced) {
      follow(home, "web");
      await hub.sync(home);
    }
    forgetFourth(home);
    const refused = { code: "HUB_REFUSED", message: expect.stringContaining("coppice hub pull one --take") };
    await expect(hub.push(home, WEB)).rejects.toMatchObject(refused);
    expect(await hub.sessions()).toMatchObject([{ sessionId: "one", messageCount: 56 }]);

    expect(await hub.pull(home, "one", { take: true })).toMatchObject({ isHolder: true });
    await hub.push(home, WEB);
    expect(home.resume("one").messages()).toHaveLength(55);
    const fresh = temporaryStore();
    await hub.pull(fresh, "one");
    expect(saidIn(fresh, "one")).toEqual(saidIn(home, "one"));
    // Who had it is asked, because it has gone on there.
    expect(await hub.push(away, WEB)).toMatchObject({ kept: ["one"], gone: [] });
    expect(away.resume("one").messages()).toHaveLength(56);
  },
);

test("a session that this store has taken is not deleted because its beginner forgets it", async () => {
  const { hub, home, away } = await taken();
  away.resume("one").append(talkOf(1, "unsent"));
  home.forget("one");
  expect(await hub.push(home, WEB)).toMatchObject({ forgottenCount: 1 });
  follow(away, null);
  await hub.sync(away);
  expect(await hub.push(away, WEB)).toMatchObject({ kept: ["one"], gone: [] });
  expect(away.resume("one").messages()).toHaveLength(57);
  expect(await hub.push(away, { ...WEB, forgotten: "forget" })).toMatchObject({ gone: ["one"] });
  expect(idsOf(away)).toEqual([]);
});

test("what began here is forgotten for everyone, also after a sync of what a colleague has added", async () => {
  const { hub, home } = await taken();
  follow(home, "web");
  await hub.sync(home);
  expect(home.forget("one").isCopy).toBe(false);
  expect(await hub.push(home, WEB)).toMatchObject({ forgottenCount: 1 });
  expect(await hub.sessions()).toEqual([]);
});

test("a session is taken back with what only this store has", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(6, "home"));
  await hub.push(home, WEB);
  await hub.pull(away, "one", { take: true });
  home.resume("one").append(talkOf(2, "more"));
  expect(await hub.push(home, WEB)).toMatchObject({ moved: ["one"] });
  expect(await hub.pull(home, "one", { take: true })).toMatchObject({ isHolder: true, forkId: null });
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 2, moved: [] });
});

test("a fork of a copy is kept: the copy is named, and all others go", async () => {
  const { hub, home, away } = await hubWithStores();
  for (const id of ["one", "two", "six"]) home.session(id, { project: "web" }).append(talkOf(6, id));
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  away.resume("one").fork({ id: "mine" }).append({ role: "user", content: "beside" });
  home.forget(["one", "two"]);
  await hub.push(home, WEB);
  const refused = [{ sessionId: "one", reason: expect.stringContaining("mine") }];
  expect(await hub.sync(away)).toMatchObject({ forgotten: ["two"], refused });
  home.session("new", { project: "web" }).append(talkOf(2));
  await hub.push(home, WEB);
  expect(await hub.sync(away)).toMatchObject({ sessionCount: 1, refused });
  expect(() => unfollow(away, "web")).toThrow(expect.objectContaining({ code: "SESSION_SHARED" }));
  expect(idsOf(away)).toEqual(["mine", "one"]);
  away.forget("mine");
  expect(await hub.sync(away)).toMatchObject({ forgotten: ["one"], refused: [] });
});

test("what another role began stays on the hub, and each push says so until it is gone", async () => {
  const { url, hub, home } = await hubWithStores();
  const other = temporaryStore();
  const role = `taker_${process.pid}`;
  await run(url, `CREATE ROLE ${role} LOGIN`);
  onTestFinished(() => run(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`).then(() => {}));
  const theirs = await openedHub(await grantedTo(url, role, "test", "write"));
  home.session("one", { project: "web" }).append(talkOf(4));
  await hub.push(home, WEB);
  await theirs.pull(other, "one", { take: true });
  other.forget("one");
  for (let round = 0; round < 2; round++) {
    expect(await theirs.push(other, WEB)).toMatchObject({ forgottenCount: 0, refusedCount: 1 });
  }
  await run(url, "DELETE FROM coppice_test.sessions");
  expect(await theirs.push(other, WEB)).toMatchObject({ forgottenCount: 0, refusedCount: 0 });
});

test("copies go whenever their sessions are gone, whoever deleted them and however long ago", async () => {
  const { url, hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(4));
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  await run(url, "DELETE FROM coppice_test.sessions");
  expect((await hub.sync(away)).forgotten).toEqual(["one"]);
});

/** Lets the answer of a transaction be lost, once the server has done it. */
function losingAnswers(isLost: (result: unknown) => boolean, andThen = () => {}): void {
  afterTransactions(async (result) => {
    if (isLost(result)) {
      vi.restoreAllMocks();
      andThen();
      throw new Error("the answer is lost");
    }
  });
}

test("a push that is cut off after it began a session anew goes on", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(6));
  await hub.push(home, WEB);
  const [{ sessionNo }] = notesOf(home, "one");
  forgetFourth(home);
  losingAnswers((result) => typeof result === "number" && result !== sessionNo);
  await expect(hub.push(home, WEB)).rejects.toThrow("lost");
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 5, kept: [] });
  await hub.pull(away, "one");
  expect(saidIn(away, "one")).toEqual(saidIn(home, "one"));
});

test("of a session that is forgotten while it is begun, neither a title nor a row stays", async () => {
  const { url, hub, home } = await hubWithStores();
  home.session("one", { project: "web", title: "a secret title" }).append(talkOf(2));
  afterTransactions(async (result) => {
    if (typeof result === "number") {
      const [row] = await run(url, "SELECT title, head FROM coppice_test.sessions");
      expect(row).toEqual({ title: null, head: Buffer.alloc(0) });
      home.forget("one");
    }
  });
  await hub.push(home, WEB);
  vi.restoreAllMocks();
  await hub.push(home, WEB);
  expect(await run(url, "SELECT FROM coppice_test.sessions")).toEqual([]);
  expect(notesOf(home, "one")).toEqual([{}]);
});

function notesOf(store: Store, id: string): [ReturnType<typeof hubNotesOf>] {
  const { repositories } = internalsOf(store);
  return [repositories.database.read(() => hubNotesOf(repositories, id))];
}

test("a copy that was forgotten stays away, whatever its id was here", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("plan", { project: "web" }).append(talkOf(3, "home"));
  away.session("plan", { project: "web" }).append(talkOf(3, "away"));
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  const copy = idsOf(away).find((id) => id !== "plan")!;
  away.forget(copy);
  away.forget("plan"); // now the plain id is free
  home.resume("plan").append(talkOf(1, "more"));
  await hub.push(home, WEB);
  await hub.sync(away);
  expect(idsOf(away)).toEqual([]);
  await hub.pull(away, "plan");
  expect(idsOf(away)).toHaveLength(1);
});

test("what began here and was forgotten stays away, also while the hub still has it", async () => {
  const { hub, home } = await taken();
  follow(home, "web");
  home.forget("one");
  expect(await hub.sync(home)).toMatchObject({ sessionCount: 0 });
  expect(idsOf(home)).toEqual([]);
  await hub.pull(home, "one");
  expect(home.resume("one").messages()).toHaveLength(56);
});

function forgetLast(store: Store): void {
  store.forget("one", { messageIds: [store.resume("one").messages().at(-1)!.id] });
}

test.each(["sync", "pull"])(
  "the last message, forgotten, does not come back with what others add (%s)",
  async (how) => {
    const { hub, home } = await taken();
    const last = home.resume("one").messages().at(-1)!.text;
    home.resume("one").entries.append([{ value: "after it" }]);
    forgetLast(home);
    follow(home, "web");
    if (how === "sync") await hub.sync(home);
    else await hub.pull(home, "one", { take: true });
    const said = home.resume("one").messages();
    expect(said.map(({ text }) => text)).not.toContain(last);
    expect(said).toHaveLength(55);
    await hub.pull(home, "one", { take: true });
    expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 55 });
    const fresh = temporaryStore();
    await hub.pull(fresh, "one");
    expect(saidIn(fresh, "one")).toEqual(saidIn(home, "one"));
  },
);

test("what was forgotten does not come back if both are kept, and goes from the hub once that is taken", async () => {
  const { hub, home } = await taken();
  const last = home.resume("one").messages().at(-1)!.text;
  const textsOf = (store: Store, id: string): string[] =>
    store
      .resume(id)
      .messages()
      .map(({ text }) => text);
  forgetLast(home);
  home.resume("one").append({ role: "user", content: "gone on" });
  await expect(hub.pull(home, "one", { take: true })).rejects.toMatchObject({ code: "SESSION_DIVERGED" });
  const { sessionId, forkId } = await hub.pull(home, "one", { take: true, fork: true });
  expect(forkId).toBe("one");
  expect(textsOf(home, sessionId)).toHaveLength(55);
  expect(textsOf(home, sessionId)).not.toContain(last);
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 6 + 55 });
  for (const { origin } of await hub.sessions()) {
    const fresh = temporaryStore();
    await hub.pull(fresh, "one", { origin });
    expect(textsOf(fresh, "one")).not.toContain(last);
  }
});

test("what was forgotten in a copy stays away when the copy is made again", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(150));
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  const [{ id, text }] = [away.resume("one").messages()[120]!];
  away.forget("one", { messageIds: [id] });
  forgetFourth(home);
  await hub.push(home, WEB);
  await hub.sync(away);
  const texts = (): string[] =>
    away
      .resume("one")
      .messages()
      .map((message) => message.text);
  expect(texts()).toHaveLength(148);
  expect(texts()).not.toContain(text);
  home.resume("one").rewind({ toSeq: 130 });
  home.resume("one").append(talkOf(3, "more"));
  await hub.push(home, WEB);
  await hub.sync(away);
  expect(texts()).toEqual(
    home
      .resume("one")
      .messages()
      .map((message) => message.text)
      .filter((one) => one !== text),
  );
});

test("of several messages that say the same, one that was forgotten in a copy is left out of the next copy, and no other", async () => {
  const { hub, home, away } = await hubWithStores();
  const session = home.session("one", { project: "web" });
  const say = (count: number, content: string): void => {
    for (let number = 0; number < count; number++) session.append({ role: "user", content, createdAt: ++now });
  };
  let now = 1_000;
  say(2, "begin");
  say(5, "yes");
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  away.forget("one", { messageIds: [away.resume("one").messages()[3]!.id] });
  unfollow(away, "web");
  follow(away, "web");
  home.forget("one", { messageIds: [home.resume("one").messages()[0]!.id] });
  say(2, "yes");
  await hub.push(home, WEB);
  await hub.sync(away);
  const times = (store: Store): number[] =>
    store
      .resume("one")
      .messages()
      .map(({ createdAtMs }) => createdAtMs);
  expect(times(away)).toEqual(times(home).filter((time) => time !== 1_004));
  expect(times(home)).toHaveLength(8);
});

test("forgetting a message after a backup is restored keeps what only the hub has", async () => {
  const { hub, store, copy } = await copiedStore();
  store.session("one", { project: "web" }).append(talkOf(6));
  await hub.push(store, WEB);
  const restored = await copy();
  store.resume("one").append(talkOf(100, "later"));
  await hub.push(store, WEB);
  forgetFourth(restored);
  expect(await hub.push(restored, WEB)).toMatchObject({ behind: ["one"] });
  restored.resume("one").append({ role: "user", content: "gone on" });
  expect(await hub.push(restored, WEB)).toMatchObject({ diverged: ["one"] });
  expect(await hub.sessions()).toMatchObject([{ messageCount: 106 }]);
  forgetLast(restored);
  expect(await hub.pull(restored, "one")).toMatchObject({ messageCount: 100, isHolder: true });
  await hub.push(restored, WEB);
  const fresh = temporaryStore();
  await hub.pull(fresh, "one");
  expect(fresh.resume("one").messages()).toHaveLength(105);
  expect(saidIn(fresh, "one")).toEqual(saidIn(restored, "one"));
});

test("a message goes from the hub that a copy of the file has sent again", async () => {
  const { hub, store, copy } = await copiedStore();
  store.session("one", { project: "web" }).append(talkOf(6));
  await hub.push(store, WEB);
  forgetFourth(store);
  const other = await copy();
  await hub.push(other, WEB);
  forgetLast(store);
  expect(await hub.push(store, WEB)).toMatchObject({ messageCount: 4, behind: [], diverged: [], kept: [] });
  const fresh = temporaryStore();
  await hub.pull(fresh, "one");
  expect(saidIn(fresh, "one")).toEqual(saidIn(store, "one"));
});

test("a message that is forgotten while its session is pushed is not on the hub", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(700));
  losingAnswers(
    (result) => result === true,
    () => forgetFourth(home),
  );
  await expect(hub.push(home, WEB)).rejects.toThrow("lost");
  home.session("two", { project: "web" }).append(talkOf(700));
  let isForgotten = false;
  afterTransactions(async (result) => {
    if (result === true && !isForgotten) {
      isForgotten = true;
      home.forget("two", { messageIds: [home.resume("two").messages()[3]!.id] });
    }
  });
  await hub.push(home, WEB);
  for (const id of ["one", "two"]) {
    await hub.pull(away, id);
    expect(saidIn(away, id)).toEqual(saidIn(home, id));
    expect(away.resume(id).messages()).toHaveLength(699);
  }
});

test("a copy that was pulled and is not followed is made again without what was forgotten", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(6));
  home.session("two", { project: "web" }).append(talkOf(6));
  await hub.push(home, WEB);
  for (const id of ["one", "two"]) await hub.pull(away, id);
  forgetFourth(home);
  home.forget("two");
  await hub.push(home, WEB);
  follow(away, "another");
  expect(await hub.sync(away)).toMatchObject({ sessionCount: 1, forgotten: ["two"], refused: [] });
  expect(saidIn(away, "one")).toEqual(saidIn(home, "one"));
});

test("a sync names a session that was taken here and is begun anew elsewhere", async () => {
  const { hub, home, away } = await taken();
  await hub.pull(home, "one", { take: true });
  follow(away, "web");
  await hub.sync(away);
  expect(forgottenOnHub(away)).toEqual([]);
  forgetFourth(home);
  await hub.push(home, WEB);
  await hub.sync(away);
  expect(forgottenOnHub(away)).toEqual(["one"]);
  expect(away.resume("one").messages()).toHaveLength(56);
});
