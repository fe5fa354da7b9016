import { expect, onTestFinished, vi } from "vitest";
import { HubConnection } from "../../src/hub/connection.ts";
import { follow, type Hub } from "../../src/hub/index.ts";
import { Pusher } from "../../src/hub/push.ts";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { hubNotesOf, noteOnHub } from "../../src/store/index.ts";
import { hubWithStores, openedHub, readyDatabase, run, saidIn, talkOf, test } from "../support/hub.ts";
import { openedStore, temporaryPath, temporaryStore } from "../support/temporary-store.ts";

const WEB = { projects: ["web"] };

/** A store that two processes have open, and what the team has said. */
async function twoProcesses(): Promise<{ home: Store; processes: [Hub, Store][] }> {
  const url = await readyDatabase();
  const home = temporaryStore();
  for (const [id, count] of [
    ["long", 700],
    ["one", 40],
    ["two", 40],
  ] as const)
    home.session(id, { project: "web" }).append(talkOf(count, id));
  const path = temporaryPath();
  const processes: [Hub, Store][] = [];
  for (let number = 0; number < 2; number++) processes.push([await openedHub(url), openedStore(path)]);
  await processes[0]![0].push(home, WEB);
  follow(processes[0]![1], "web");
  return { home, processes };
}

function expectSame(store: Store, home: Store): void {
  const idsOf = (one: Store): string[] =>
    one
      .sessions()
      .map(({ id }) => id)
      .sort();
  expect(idsOf(store)).toEqual(idsOf(home));
  for (const id of idsOf(home)) expect(saidIn(store, id)).toEqual(saidIn(home, id));
  expect(store.verify().ok).toBe(true);
}

test("what two processes sync at once is there once", async () => {
  const { home, processes } = await twoProcesses();
  for (let round = 0; round < 3; round++) {
    const reports = await Promise.all(processes.map(([hub, store]) => hub.sync(store)));
    expect(reports.flatMap(({ refused }) => refused)).toEqual([]);
    expectSame(processes[0]![1], home);
    // Next, all copies are made again, and continued.
    home.forget("one", { messageIds: [home.resume("one").messages()[3]!.id] });
    for (const { id } of home.sessions()) home.resume(id).append(talkOf(150, `${round}`));
    await processes[0]![0].push(home, WEB);
  }
});

test.each([false, true])(
  "a session that is taken while it is synced is there once (home has it: %s)",
  async (isHome) => {
    const { home, processes } = await twoProcesses();
    const [[hub, store], [other, same]] = processes as [[Hub, Store], [Hub, Store]];
    if (isHome) {
      await hub.pull(store, "long", { take: true });
      await hub.pull(home, "long", { take: true });
      home.resume("long").append(talkOf(300, "more"));
      await hub.push(home, WEB);
    }
    let taking: Promise<unknown> | undefined;
    const onProgress = (): void => {
      taking ??= other.pull(same, "long", { take: true });
    };
    if (isHome) onProgress();
    const { refused } = await hub.sync(store, { onProgress });
    expect(refused).toEqual([]);
    expect(await taking).toMatchObject({ sessionId: "long", isHolder: true });
    expectSame(store, home);
    store.resume("long").append({ role: "user", content: "gone on" });
    expect(await hub.push(store, WEB)).toMatchObject({ messageCount: 1, moved: [], diverged: [] });
  },
);

/** Calls something before the first transaction that takes a session, and something after it. */
function aroundTaking({
  before = async () => {},
  after = () => {},
}: {
  before?: () => Promise<unknown>;
  after?: () => void;
}) {
  const transaction = HubConnection.prototype.transaction;
  let isFirst = true;
  vi.spyOn(HubConnection.prototype, "transaction").mockImplementation(async function (
    this: HubConnection,
    work,
    signal,
  ) {
    const isTaking = isFirst && String(work).includes("holder IN");
    if (isTaking) {
      isFirst = false;
      await before();
    }
    const result = await transaction.call(this, work, signal);
    if (isTaking) after();
    return result;
  } as typeof transaction);
  onTestFinished(() => void vi.restoreAllMocks());
}

test("what is appended while a session is taken back is sent", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(6));
  await hub.push(home, WEB);
  await hub.pull(away, "one", { take: true });
  away.resume("one").append(talkOf(2, "away"));
  await hub.push(away, WEB);
  aroundTaking({ after: () => void home.resume("one").append({ role: "user", content: "meanwhile" }) });
  await hub.pull(home, "one", { take: true });
  expect(await hub.push(home, WEB)).toMatchObject({ messageCount: 1 });
  await hub.pull(away, "one");
  expect(saidIn(away, "one")).toEqual(saidIn(home, "one"));
});

test("a session that has gone on while it is taken back is brought up to date, and taken", async () => {
  const { hub, home, away } = await hubWithStores();
  home.session("one", { project: "web" }).append(talkOf(6));
  await hub.push(home, WEB);
  await hub.pull(away, "one", { take: true });
  away.resume("one").append(talkOf(2, "away"));
  await hub.push(away, WEB);
  const before = async (): Promise<void> => {
    away.resume("one").append({ role: "user", content: "meanwhile" });
    await hub.push(away, WEB);
  };
  aroundTaking({ before });
  expect(await hub.pull(home, "one", { take: true })).toMatchObject({ messageCount: 3, isHolder: true });
  expect(saidIn(home, "one")).toEqual(saidIn(away, "one"));
});

test("a session that another process sends again while a push goes on is not lost", async () => {
  const url = await readyDatabase();
  const path = temporaryPath();
  const [one, two] = [openedStore(path), openedStore(path)];
  const [first, second] = [await openedHub(url), await openedHub(url)];
  one.session("s", { project: "web" }).append(talkOf(3));
  await first.push(one, WEB);
  await run(url, "DELETE FROM coppice_test.sessions");
  await first.push(one, WEB); // it is asked about
  const missing = Pusher.prototype.missing;
  vi.spyOn(Pusher.prototype, "missing").mockImplementationOnce(async function (this: Pusher, ...given) {
    const found = await missing.apply(this, given);
    await second.push(two, { sessions: ["s"], forgotten: "send" });
    return found;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await first.push(one, { ...WEB, forgotten: "forget" })).toMatchObject({ gone: [], kept: [] });
  expect(one.resume("s").messages()).toHaveLength(3);
  expect(await first.push(one, WEB)).toMatchObject({ kept: [], messageCount: 0 });
});

test("a push that another process overtakes at any moment sends nothing twice", async () => {
  const { hub, home } = await hubWithStores();
  const session = home.session("one", { project: "web" });
  session.append(talkOf(4));
  await hub.push(home, WEB);
  const { repositories } = internalsOf(home);
  const { database } = repositories;
  const notes = () => hubNotesOf(repositories, "one");
  const note = (changes: ReturnType<typeof notes>): void =>
    database.write("test", () => noteOnHub(repositories, "one", changes));
  let wasOvertaken = true;
  for (let moment = 1; wasOvertaken; moment++) {
    session.append(talkOf(2, `round ${moment}`));
    const before = notes();
    await hub.push(home, WEB); // the other process, which notes what it has sent a moment later
    const after = notes();
    note(before);
    let readCount = 0;
    const read = database.read;
    const reading = vi.spyOn(database, "read").mockImplementation((query) => {
      const isOuter = !database.client.inTransaction;
      const found = read.call(database, query);
      if (isOuter && ++readCount === moment) note(after);
      return found;
    });
    await hub.push(home, WEB);
    reading.mockRestore();
    wasOvertaken = readCount >= moment;
    expect(await hub.sessions()).toMatchObject([{ messageCount: 4 + 2 * moment }]);
  }
  const reader = temporaryStore();
  await hub.pull(reader, "one");
  expect(saidIn(reader, "one")).toEqual(saidIn(home, "one"));
});

test("a sync that begins during a push on the same hub is no change of the hub", async () => {
  const { hub, home, away } = await hubWithStores();
  for (const id of ["one", "two"]) home.session(id, { project: "web" }).append(talkOf(3));
  follow(away, "web");
  const syncs: Promise<unknown>[] = [];
  await hub.push(home, { ...WEB, onProgress: () => void syncs.push(hub.sync(away)) });
  await Promise.all(syncs);
  await hub.sync(away);
  expect(saidIn(away, "two")).toEqual(saidIn(home, "two"));
});
