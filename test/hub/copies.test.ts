import { writeFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { answerLines } from "../../src/cli/commands/recall.ts";
import { follow, type Hub, type SyncProgress, unfollow } from "../../src/hub/index.ts";
import { importFiles } from "../../src/imports/import-files.ts";
import { importRows } from "../../src/imports/import-rows.ts";
import type { Store } from "../../src/index.ts";
import { answerOf } from "../../src/session/aids/answer.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { noteOnHub } from "../../src/store/index.ts";
import { plainTerminal } from "../support/fake-terminal.ts";
import {
  copiedStore,
  grantedTo,
  hubWithStores,
  openedHub,
  readyDatabase,
  run,
  saidIn,
  talkOf,
  test,
} from "../support/hub.ts";
import { temporaryPath, temporaryStore } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };

/** A store with a past of its own, which other stores number alike. */
function storeOf(person: string, sessionCount = 3): Store {
  const store = temporaryStore();
  for (let number = 0; number < sessionCount; number++) {
    const session = store.session(`${person}-${number}`, { project: "web", title: `${person} ${number}` });
    session.append(talkOf(20 + 15 * number, person));
    session.entries.append([{ id: "e", value: { of: person } }]);
  }
  return store;
}

test("people who all have a past are read by a fresh store and by each other", async () => {
  const { hub } = await hubWithStores();
  const people = ["ada", "bob", "cy", "dee", "eve", "fay"];
  const stores = people.map((person) => storeOf(person));
  for (const store of stores) await hub.push(store, WEB);
  const fresh = temporaryStore();
  for (const store of [...stores, fresh]) {
    follow(store, "web");
    expect((await hub.sync(store)).refused).toEqual([]);
    for (const [index, person] of people.entries()) {
      for (let number = 0; number < 3; number++) {
        const id = `${person}-${number}`;
        expect(saidIn(store, id)).toEqual(saidIn(stores[index]!, id));
      }
    }
    expect(store.verify().ok).toBe(true);
  }
});

test("answers say whose a copy is, and may leave copies out", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("theirs", { project: "web" }).append({ role: "user", content: "the lamp of theirs is green" });
  const rewound = home.session("rewound", { project: "web" });
  rewound.append([
    { role: "user", content: "kept" },
    { role: "user", content: "the lamp was red" },
  ]);
  away.session("mine", { project: "web" }).append({ role: "user", content: "my lamp is blue" });
  follow(away, "web");
  await hub.push(home, WEB);
  rewound.rewind({ toSeq: 0 });
  await hub.push(home, WEB);
  await hub.sync(away);
  const found = async (options = {}) => (await away.recall("lamp", options)).map(({ sessionId }) => sessionId).sort();
  expect(await found()).toEqual(["mine", "theirs"]);
  expect(await found({ mine: true })).toEqual(["mine"]);
  expect(await found({ mine: true, superseded: true })).toEqual(["mine"]);
  expect(
    away
      .sessions()
      .map(({ id, author }) => [id, author === null])
      .sort(),
  ).toEqual([
    ["mine", true],
    ["rewound", false],
    ["theirs", false],
  ]);
  const [session] = answerOf(await away.recall("lamp green"), away);
  expect([...answerLines([session!], plainTerminal())][0]).toContain(`by ${session!.author}`);
});

test("handles and ids of a copy are those of its store", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(200));
  away.session("mine", { project: "web" }).append(talkOf(50, "mine"));
  await hub.push(home, WEB);
  await hub.pull(away, "one");
  const copy = away.resume("one");
  const [root] = copy.roots();
  expect(away.expand(root!.root).members.length).toBeGreaterThan(0);
  const [hit] = await away.recall("said 7 region", { limit: 1 });
  expect(away.expand(hit!.messageId).members.map(({ id }) => id)).toContain(hit!.messageId);
  const numbers = new Set(copy.messages().map(({ id }) => id));
  for (const { id } of away.resume("mine").messages()) expect(numbers.has(id)).toBe(false);
});

test("sessions of two stores with the same id are both there", async () => {
  const { hub, home, away } = await hubWithStores();
  const third = temporaryStore();
  for (const [store, person] of [
    [home, "ada"],
    [away, "bob"],
  ] as const)
    store.session("plan", { project: "web" }).append(talkOf(4, person));
  await hub.push(home, WEB);
  await hub.push(away, WEB);
  follow(third, null);
  await hub.sync(third);
  const ids = third.sessions().map(({ id }) => id);
  expect(ids.map((id) => third.resume(id).messages()[0]!.text).sort()).toEqual(
    [home, away].map((store) => store.resume("plan").messages()[0]!.text).sort(),
  );
  expect(ids.filter((id) => /^plan~[0-9a-f]{8}$/.test(id))).toHaveLength(1);
  await expect(hub.pull(temporaryStore(), "plan")).rejects.toMatchObject({ code: "OPTION_INVALID" });
});

test("a copy is read, and not written, until it is taken or forked", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(6));
  await hub.push(home, WEB);
  expect(await hub.pull(away, "one")).toMatchObject({
    sessionId: "one",
    outcome: "new",
    messageCount: 6,
    isHolder: false,
  });
  const copy = away.resume("one");
  const more = { role: "user", content: "more" } as const;
  const writes: (() => unknown)[] = [
    () => copy.append(more),
    () => copy.rewind({ toSeq: 1 }),
    () => copy.undo(),
    () => copy.update({ title: "other" }),
    () => copy.pin(copy.messages()[0]!.id),
    () => copy.edit(copy.messages()[0]!.id, more),
    () => copy.entries.append([{ value: 1 }]),
    () => away.items.put(["app"], "k", 1, { session: "one" }),
  ];
  for (const write of writes) expect(write).toThrow(expect.objectContaining({ code: "SESSION_COPIED" }));
  copy.fork({ id: "beside" }).append(more);
  expect(away.resume("beside").messages()).toHaveLength(7);

  expect(await hub.pull(away, "one", { take: true })).toMatchObject({ outcome: "known", isHolder: true });
  away.resume("one").append(more);
  expect(await hub.push(away, WEB)).toMatchObject({ messageCount: 8, moved: [] }); // the fork goes, too
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 0, moved: [] });
  expect(await hub.pull(home, "one")).toMatchObject({ outcome: "continued", messageCount: 1, isHolder: false });
  expect(saidIn(home, "one")).toEqual(saidIn(away, "one"));
  expect(await hub.pull(home, "one", { take: true })).toMatchObject({ isHolder: true });
  home.resume("one").append(more);
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 1 });
});

test("what both have gone on with is named, and with `fork` both are kept", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(6));
  await hub.push(home, WEB);
  await hub.pull(away, "one", { take: true });
  away.resume("one").append({ role: "user", content: "away" });
  await hub.push(away, WEB);
  home.resume("one").append({ role: "user", content: "home" });
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 0, moved: ["one"] });
  await expect(hub.pull(home, "one")).rejects.toMatchObject({ code: "SESSION_DIVERGED" });
  const { sessionId, forkId } = await hub.pull(home, "one", { fork: true });
  expect(forkId).toBe("one");
  expect(saidIn(home, sessionId)).toEqual(saidIn(away, "one"));
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 7, moved: [] });
  home.resume("one").append({ role: "user", content: "home again" });
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 1 });
  expect(await hub.sessions()).toHaveLength(2);
});

test("rewinds, undos, edits, entries, items and titles reach copies", async () => {
  const { hub, home, away } = await hubWithStores();
  const session = home.session("one", { project: "web", title: "first" });
  session.append(talkOf(60));
  follow(away, "web");
  const same = async (): Promise<void> => {
    await hub.push(home, WEB);
    await hub.sync(away);
    expect(saidIn(away, "one")).toEqual(saidIn(home, "one"));
    expect(away.verify().ok).toBe(true);
  };
  await same();
  session.entries.append([{ id: "a", value: 1 }, { value: 2 }]);
  session.rewind({ toSeq: 40 });
  session.append(talkOf(5, "another way"));
  session.entries.append([{ value: 3 }]);
  await same();
  session.undo();
  await same();
  session.edit(session.messages()[7]!.id, { role: "assistant", content: "edited" });
  await same();
  session.rewind({ toSeq: 2 });
  await same();
  session.append({
    role: "tool",
    parts: [{ type: "tool_result", toolCallId: "c", content: "long ".repeat(30_000) }],
    metadata: { a: "\ud800 \0" },
  });
  session.update({ title: "second", addTags: ["hot"] });
  home.items.put(["app"], "op", { done: true }, { session: "one" });
  await same();
  expect(away.items.get(["app"], "op")?.value).toEqual({ done: true });
});

test.each(["sync", "take"])(
  "titles and items that two stores give a session in turn are not lost (%s)",
  async (how) => {
    const { hub, home, away } = await hubWithStores();
    const put = (store: Store, key: string, value: string): unknown =>
      store.items.put(["app"], key, value, { session: "one" });
    const takeAt = async (store: Store, other: Store, title: string): Promise<void> => {
      await hub.push(other, WEB);
      if (how === "sync") await hub.sync(store);
      await hub.pull(store, "one", { take: true });
      const from = other.resume("one").info().title;
      expect([title, store.resume("one").info().title]).toEqual([title, from]);
      store.resume("one").update({ title });
      put(store, "state", title);
      put(store, title, "own");
      expect(await hub.push(store, WEB)).toMatchObject({ sessionCount: 1, messageCount: 0 });
    };
    home.session("one", { project: "web", title: "first" }).append(talkOf(4));
    put(home, "state", "first");
    follow(home, "web");
    follow(away, "web");
    await takeAt(away, home, "by away");
    // What is written here meanwhile is kept, too. Of the same item, the newer one is.
    put(home, "meanwhile", "home");
    await takeAt(home, away, "by home");
    await takeAt(away, home, "by away again");
    await hub.sync(home);
    for (const store of [home, away]) {
      const values = ["state", "by away", "meanwhile", "by home"].map((key) => store.items.get(["app"], key)?.value);
      expect(values).toEqual(["by away again", "own", "home", "own"]);
      expect(store.resume("one").info().title).toBe("by away again");
      expect(await hub.push(store, WEB)).toMatchObject({ sessionCount: 0 });
    }
  },
);

test("a title that was given here is kept by a pull that is refused, and by one of a session that only this store pushes", async () => {
  const { hub, home, away } = await hubWithStores();
  const session = home.session("one", { project: "web", title: "first" });
  session.append(talkOf(4));
  await hub.push(home, WEB);
  // As if the process had ended before it noted the push.
  internalsOf(home).repositories.database.write("test", () => {
    noteOnHub(internalsOf(home).repositories, "one", { head: undefined });
  });
  session.update({ title: "by home" });
  await hub.pull(home, "one");
  expect(session.info().title).toBe("by home");
  await hub.push(home, WEB);
  await hub.pull(away, "one", { take: true });
  away.resume("one").update({ title: "by away" });
  await hub.push(away, WEB);
  session.append(talkOf(1, "more"));
  await expect(hub.pull(home, "one")).rejects.toMatchObject({ code: "SESSION_DIVERGED" });
  expect(session.info().title).toBe("by home");
});

test("what is forgotten is erased from every copy at the next sync", async () => {
  const { hub, home, away } = await hubWithStores();
  const session = home.session("one", { project: "web" });
  session.append(talkOf(12));
  home.session("two", { project: "web" }).append(talkOf(3, "two"));
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  home.forget("one", { messageIds: [session.messages()[4]!.id] });
  home.forget("two");
  expect(await hub.push(home, WEB)).toMatchObject({ forgottenCount: 1 });
  await hub.sync(away);
  expect(saidIn(away, "one")).toEqual(saidIn(home, "one"));
  expect(away.sessions().map(({ id }) => id)).toEqual(["one"]);
});

test("nobody deletes what began here: it is kept until the person chooses", async () => {
  const { url, hub, home } = await hubWithStores();
  for (const id of ["a", "b", "c"]) home.session(id, { project: "web" }).append(talkOf(3, id));
  await hub.push(home, WEB);
  await run(url, "DELETE FROM coppice_test.sessions");
  const before = await hub.push(home, { ...WEB, forgotten: "forget" }); // nobody has seen them yet
  expect(before).toMatchObject({ gone: [], kept: expect.arrayContaining(["a", "b", "c"]) });
  expect(await hub.push(home, { sessions: ["a"], forgotten: "forget" })).toMatchObject({ gone: ["a"] });
  expect(await hub.push(home, { sessions: ["b"], forgotten: "send" })).toMatchObject({ messageCount: 3 });
  expect(await hub.push(home, { sessions: ["c"], forgotten: "keep" })).toMatchObject({ kept: [] });
  expect(await hub.push(home, WEB)).toMatchObject({ kept: [], messageCount: 0 });
  for (const forgotten of ["forget", "send"] as const) {
    expect(await hub.push(home, { ...WEB, forgotten })).toMatchObject({ gone: [], messageCount: 0 });
  }
  expect(
    home
      .sessions()
      .map(({ id }) => id)
      .sort(),
  ).toEqual(["b", "c"]);
  expect((await hub.sessions()).map(({ sessionId }) => sessionId)).toEqual(["b"]);
});

test("only who began a session deletes it, whoever has taken it", async () => {
  const { url, hub, home } = await hubWithStores();
  const other = temporaryStore();
  await run(url, "CREATE ROLE other_member LOGIN");
  onTestFinished(() => run(url, "DROP OWNED BY other_member; DROP ROLE other_member").then(() => {}));
  const theirs = await openedHub(await grantedTo(url, "other_member", "test", "write"));
  home.session("one", { project: "web" }).append(talkOf(4));
  await hub.push(home, WEB);
  await theirs.pull(other, "one", { take: true });
  other.forget("one", { messageIds: [other.resume("one").messages()[1]!.id] });
  await expect(theirs.push(other, { sessions: ["one"] })).rejects.toMatchObject({ code: "HUB_REFUSED" });
  other.forget("one");
  expect(await theirs.push(other, WEB)).toMatchObject({ forgottenCount: 0, refusedCount: 1 });
  expect(await hub.sessions()).toHaveLength(1);
});

test("an older copy of the file is behind, and one that went on has diverged; neither changes anything", async () => {
  const { hub, store, copy: copied } = await copiedStore();
  const grow = (one: Store, text: string): unknown => one.session("one", { project: "web" }).append(talkOf(5, text));
  grow(store, "first");
  await hub.push(store, WEB);
  const copy = await copied();
  grow(store, "second");
  await hub.push(store, WEB);
  expect(await hub.push(copy, WEB)).toMatchObject({ behind: [], messageCount: 0 }); // it has nothing to send
  const behind = await copied();
  expect(await hub.pull(copy, "one")).toMatchObject({ outcome: "continued", messageCount: 5 });
  expect(saidIn(copy, "one")).toEqual(saidIn(store, "one"));
  grow(store, "third");
  await hub.push(store, WEB);
  grow(behind, "other");
  expect(await hub.push(behind, WEB)).toMatchObject({ diverged: ["one"], messageCount: 0 });
  // The same messages in both are no difference.
  grow(copy, "third");
  const before = saidIn(store, "one");
  await hub.push(copy, WEB);
  expect(saidIn(store, "one")).toEqual(before);
  expect(await hub.push(behind, { ...WEB, fork: true })).toMatchObject({ forked: ["one"], messageCount: 15 });
});

test("a project is followed from a time on, and unfollowing erases the copies", async () => {
  const { hub, home, away } = await hubWithStores();
  const at = (id: string, createdAt: number, project = "web"): unknown =>
    home.session(id, { project }).append({ role: "user", content: `said in ${id}`, createdAt });
  at("old", 1_000);
  at("new", 10_000);
  at("other", 10_000, "diary");
  await hub.push(home, { projects: ["web", "diary"] });
  follow(away, "web", { sinceMs: 5_000 });
  const ids = (): string[] =>
    away
      .sessions()
      .map(({ id }) => id)
      .sort();
  await hub.sync(away);
  expect(ids()).toEqual(["new"]);
  follow(away, null);
  await hub.sync(away);
  expect(ids()).toEqual(["new", "old", "other"]);
  expect(await hub.sync(away)).toEqual({ sessionCount: 0, messageCount: 0, forgotten: [], refused: [] });
  away.forget("old");
  await hub.sync(away);
  expect(ids()).toEqual(["new", "other"]); // what was forgotten here comes again only if it is pulled
  await hub.pull(away, "old");
  expect(ids()).toEqual(["new", "old", "other"]);
  expect(unfollow(away, null).sort()).toEqual(["new", "old", "other"]);
  expect(ids()).toEqual([]);
  follow(away, "web");
  await hub.sync(away);
  expect(ids()).toEqual(["new", "old"]);
});

test("a sync that was cut off goes on where it was", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("long", { project: "web" }).append(talkOf(700));
  await hub.push(home, WEB);
  follow(away, "web");
  const stopping = new AbortController();
  const stopped = hub.sync(away, {
    signal: stopping.signal,
    onProgress: ({ messageCount }) => messageCount >= 300 && stopping.abort(),
  });
  await stopped.catch(() => {});
  const before = away.resume("long").messages().length;
  const { messageCount } = await hub.sync(away);
  expect(before + messageCount).toBe(700);
  expect(saidIn(away, "long")).toEqual(saidIn(home, "long"));
});

test("a sync with nothing new reads no session again that was pushed just before", async () => {
  const { hub, home, away } = await hubWithStores();
  for (const id of ["first", "second"]) home.session(id, { project: "web" }).append(talkOf(3));
  await hub.push(home, WEB);
  follow(away, "web");
  const read: SyncProgress[] = [];
  const onProgress = (progress: SyncProgress): unknown => read.push(progress);
  await hub.sync(away);
  await hub.sync(away, { onProgress });
  expect(read).toEqual([]);
  home.resume("second").update({ title: "Renamed" });
  await hub.push(home, WEB);
  await hub.sync(away, { onProgress });
  expect(read).toMatchObject([{ doneCount: 1, sessionCount: 1 }]);
  expect(away.resume("second").info().title).toBe("Renamed");
});

test("a push costs what is new, whatever the session's length", async () => {
  const { url, hub, home } = await hubWithStores();
  const session = home.session("long", { project: "web" });
  for (let at = 0; at < 12; at++) session.append(talkOf(500, String(at)));
  await hub.push(home, WEB);
  const sizes = async (): Promise<number[]> =>
    (await run<{ size: number }>(url, "SELECT octet_length(body) AS size FROM coppice_test.log ORDER BY n")).map(
      ({ size }) => size,
    );
  const before = await sizes();
  session.append({ role: "user", content: "one more" });
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 1 });
  const after = await sizes();
  expect(after.slice(0, -1)).toEqual(before);
  expect(after.at(-1)).toBeLessThan(200);
});

async function twoHubs(): Promise<Hub> {
  return openedHub(await readyDatabase());
}

test("a fork goes as a session of its own", async () => {
  const hub = await twoHubs();
  const [home, away] = [temporaryStore(), temporaryStore()];
  home.session("one", { project: "web" }).append(talkOf(8));
  home.resume("one").fork({ id: "fork", toSeq: 4 }).append(talkOf(3, "fork"));
  await hub.push(home, WEB);
  follow(away, "web");
  await hub.sync(away);
  for (const id of ["one", "fork"]) expect(saidIn(away, id)).toEqual(saidIn(home, id));
});

test("an import leaves a copy alone, and rows of a copy are nobody's", async () => {
  const { hub, home, away } = await hubWithStores();
  const id = "s";
  const session = home.session(id, { project: "web" });
  session.append(talkOf(3));
  await hub.push(home, WEB);
  await hub.pull(away, id);
  session.append(talkOf(2, "more"));
  const transcript = `${temporaryPath()}.jsonl`;
  writeFileSync(transcript, [...home.export()].map((line) => `${JSON.stringify(line)}\n`).join(""));
  const { files } = await importFiles(away, [transcript]);
  expect(files[0]!.warnings).toMatchObject([{ reason: expect.stringContaining("is a copy") }]);
  expect(away.resume(id).messages()).toHaveLength(3);
  const rows = temporaryPath();
  writeFileSync(rows, [...away.export({ rows: true, sessions: [id] })].map((line) => `${line}\n`).join(""));
  const fresh = temporaryStore();
  importRows(fresh, rows);
  fresh.resume(id).append({ role: "user", content: "more" });
  expect(fresh.resume(id).messages()).toHaveLength(4);
});
