import { expect, onTestFinished, test } from "vitest";
import { openHub } from "../../src/hub/index.ts";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { storeIdOf } from "../../src/store/id-blocks.ts";
import { readyDatabase, run } from "../support/hub.ts";
import { factsInStore, factsOnHub } from "../support/hub-facts.ts";
import { calls, results, talk, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const SMALL = {
  hotSize: 6,
  overlap: 2,
  evictBatch: 6,
  maxThemes: 3,
  openClustersMax: 4,
  resolveTokensMin: 50,
} as const;

async function opened(url: string) {
  const hub = await openHub(url);
  onTestFinished(() => hub.close());
  return hub;
}

function newStore(): Store {
  return temporaryStore({ summarizer: scriptedSummarizer("good") });
}

/** A session with calls, a long string, summaries, a branch, a forgotten message, entries and items. */
async function rich(store: Store, id: string): Promise<void> {
  const session = store.session(id, { ...SMALL, project: "web" });
  session.append(user("Remember the harbor rule.", { pinned: true }));
  session.appendAll(talk(30));
  session.appendAll([calls(["c"]), results(["c"], "a long output is kept apart ".repeat(1_000))]);
  await session.resolveDirty();
  session.appendAll(talk(20));
  session.rewind({ toSeq: 44 });
  session.entries.append([{ id: "e1", value: { step: 1 } }]);
  store.items.put([id], "note", { open: true }, { session: id });
  store.forget(id, { messageIds: [session.messages({ seqFrom: 12, limit: 1 })[0]!.id] });
  session.appendAll(talk(25));
  await session.resolveDirty();
}

/** What a reader can see of a session. */
function seen(store: Store, id: string): unknown {
  const session = store.resume(id);
  return {
    messages: session.messages(),
    contexts: [800, 2_000, 8_000].map((tokensMax) => session.render({ tokensMax })),
    others: (["flat", "sandwich"] as const).map((strategy) => session.render({ tokensMax: 3_000, strategy })),
    roots: session.roots(),
    clusters: session.roots({ level: "cluster" }),
    expanded: session.roots().map(({ root }) => store.expand(root)),
    branches: session.branches(),
    entries: session.entries.list(),
    items: store.items.list([id]),
  };
}

function expectSound(store: Store): void {
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
}

test("a session is taken, goes on, and is taken back, and is the same everywhere", async () => {
  const url = await readyDatabase();
  const [hub, home, away] = [await opened(url), newStore(), newStore()];
  await rich(home, "s");
  const names = { sessions: ["s"] };
  await hub.push(home, names);
  expect(await hub.pull(away, "s", { take: true })).toMatchObject({ outcome: "new", isHolder: true, forkId: null });
  expect(seen(away, "s")).toEqual(seen(home, "s"));
  expectSound(away);

  away.session("own", SMALL).appendAll(talk(10));
  away.resume("s").appendAll(talk(50));
  expect(await hub.push(away, names)).toMatchObject({ sessionCount: 1, messageCount: 50, moved: [] });
  expect(await hub.push(home, names)).toMatchObject({ moved: ["s"] });
  expect(await hub.pull(home, "s", { take: true })).toMatchObject({ outcome: "continued", messageCount: 50 });
  expect(seen(home, "s")).toEqual(seen(away, "s"));
  expectSound(home);
  home.resume("s").rewind({ toSeq: 60 });
  home.resume("s").appendAll(talk(50));
  expect(await hub.push(home, names)).toMatchObject({ sessionCount: 1, moved: [] });
  expect(await hub.push(away, names)).toMatchObject({ moved: ["s"] });
  expect(await hub.pull(away, "s")).toMatchObject({ outcome: "continued", isHolder: false });
  expect(seen(away, "s")).toEqual(seen(home, "s"));
  expectSound(away);
  expect(await run(url, "SELECT epoch::int, count(*) OVER ()::int AS count FROM coppice.sessions")).toEqual([
    { epoch: 2, count: 1 },
  ]);
});

test("a copy may not be pushed, and a second pull writes nothing", async () => {
  const url = await readyDatabase();
  const [hub, home, away] = [await opened(url), newStore(), newStore()];
  home.session("s", { ...SMALL, project: "web" }).appendAll(talk(30));
  await hub.push(home, { projects: ["web"] });
  expect(await hub.pull(away, "s")).toMatchObject({ outcome: "new", messageCount: 30, isHolder: false });
  expect(await hub.pull(away, "s")).toMatchObject({ outcome: "known", messageCount: 0 });
  expect(await hub.push(away, { projects: ["web"] })).toMatchObject({ moved: ["s"], messageCount: 0 });
  await expect(hub.pull(away, "none")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
});

test("what the former holder has not sent becomes a fork, and is lost nowhere", async () => {
  const url = await readyDatabase();
  const [hub, home, away] = [await opened(url), newStore(), newStore()];
  home.session("s", { ...SMALL, project: "web" }).appendAll(talk(30));
  await hub.push(home, { projects: ["web"] });
  await hub.pull(away, "s", { take: true });
  away.resume("s").append(user("said away"));
  await hub.push(away, { projects: ["web"] });
  home.resume("s").appendAll([user("said at home"), user("and more")]);

  const before = seen(home, "s");
  await expect(hub.pull(home, "s", { take: true })).rejects.toMatchObject({ code: "SESSION_DIVERGED" });
  expect(seen(home, "s")).toEqual(before);
  expect(await hub.push(away, { projects: ["web"] })).toMatchObject({ moved: [] });

  const { forkId } = await hub.pull(home, "s", { take: true, fork: true });
  expect(seen(home, "s")).toEqual(seen(away, "s"));
  expect(
    home
      .resume(forkId!)
      .messages()
      .map(({ text }) => text),
  ).toEqual(["said at home", "and more"]);
  expect(home.resume(forkId!).info()).toMatchObject({ parentSessionId: "s", project: "web" });
  expectSound(home);
  expect(await hub.push(home, { projects: ["web"] })).toMatchObject({ sessionCount: 2, messageCount: 2, moved: [] });
});

test("two stores that take the same session at once: one of them has it", async () => {
  const url = await readyDatabase();
  const [hub, home, ...others] = [await opened(url), newStore(), newStore(), newStore()];
  home.session("s", { ...SMALL, project: "web" }).appendAll(talk(30));
  await hub.push(home, { projects: ["web"] });
  await Promise.all(others.map((store) => hub.pull(store, "s", { take: true })));
  const pushed = [];
  for (const store of others) {
    store.resume("s").append(user("mine"));
    pushed.push(await hub.push(store, { projects: ["web"] }));
  }
  expect(pushed.map(({ messageCount }) => messageCount).sort()).toEqual([0, 1]);
  expect(pushed.flatMap(({ moved }) => moved)).toEqual(["s"]);
});

test("a session whose push was cut off in the middle is taken as it was before that push, and goes on", async () => {
  const url = await readyDatabase();
  const [hub, home, away] = [await opened(url), newStore(), newStore()];
  const names = { sessions: ["s"] };
  await rich(home, "s");
  await hub.push(home, names);
  const before = seen(home, "s");
  home.resume("s").rewind({ toSeq: 40 });
  home.resume("s").appendAll([calls(["d"]), results(["d"], "another long output ".repeat(1_000)), ...talk(700)]);
  await expect(hub.push(home, { ...names, signal: stoppedAfterSending() })).rejects.toThrow("stopped");
  const [row] = await run<{ unfinished: number }>(
    url,
    "SELECT (message_count - marked_count)::int AS unfinished FROM coppice.sessions",
  );
  expect(row!.unfinished).toBe(500);

  expect(await hub.pull(away, "s", { take: true })).toMatchObject({ outcome: "new", isHolder: true });
  expect(seen(away, "s")).toEqual(before);
  expectSound(away);
  away.resume("s").append(user("said away"));
  expect(await hub.push(away, names)).toMatchObject({ messageCount: 1, diverged: [], behind: [] });
  const origin = storeIdOf(internalsOf(home).repositories)!;
  expect(await factsOnHub(url, "s", origin)).toHaveLength(factsInStore(away, "s").length);
  expect(await hub.recall("said", { limit: 1 })).toMatchObject([{ text: "said away" }]);
});

/** A signal that stops a push of one session before its second transaction. The first call finds the project. */
function stoppedAfterSending(): AbortSignal {
  const { signal } = new AbortController();
  let transactionCount = 0;
  signal.throwIfAborted = () => {
    transactionCount += 1;
    if (transactionCount === 3) throw new Error("stopped");
  };
  return signal;
}
