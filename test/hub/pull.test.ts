import { expect } from "vitest";
import type { Store } from "../../src/index.ts";
import { internalsOf } from "../../src/session/opened-store.ts";
import { storeIdOf } from "../../src/store/changes/id-blocks.ts";
import { hubWithStores, run, test } from "../support/hub.ts";
import { factsInStore, factsOnHub } from "../support/hub-facts.ts";
import { RICH, richSession } from "../support/rich-session.ts";
import { calls, results, talk, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { temporaryStore } from "../support/temporary-store.ts";

const SUMMARIZED = { summarizer: scriptedSummarizer("good") };

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
  const { url, hub, home, away } = await hubWithStores(SUMMARIZED);
  await richSession(home, "s");
  const names = { sessions: ["s"] };
  await hub.push(home, names);
  expect(await hub.pull(away, "s", { take: true })).toMatchObject({ outcome: "new", isHolder: true, forkId: null });
  expect(seen(away, "s")).toEqual(seen(home, "s"));
  expectSound(away);

  away.session("own", RICH).append(talk(10));
  away.resume("s").append(talk(50));
  expect(await hub.push(away, names)).toMatchObject({ sessionCount: 1, messageCount: 50, moved: [] });
  expect(await hub.push(home, names)).toMatchObject({ moved: ["s"] });
  expect(await hub.pull(home, "s", { take: true })).toMatchObject({ outcome: "continued", messageCount: 50 });
  expect(seen(home, "s")).toEqual(seen(away, "s"));
  expectSound(home);
  home.resume("s").rewind({ toSeq: 60 });
  home.resume("s").append(talk(50));
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
  const { hub, home, away } = await hubWithStores();
  home.session("s", RICH).append(talk(30));
  await hub.push(home, { projects: ["web"] });
  expect(await hub.pull(away, "s")).toMatchObject({ outcome: "new", messageCount: 30, isHolder: false });
  expect(await hub.pull(away, "s")).toMatchObject({ outcome: "known", messageCount: 0 });
  expect(await hub.push(away, { projects: ["web"] })).toMatchObject({ moved: ["s"], messageCount: 0 });
  await expect(hub.pull(away, "none")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
});

test("what the former holder has not sent becomes a fork, and is lost nowhere", async () => {
  const { hub, home, away } = await hubWithStores(SUMMARIZED);
  home.session("s", RICH).append(talk(30));
  await hub.push(home, { projects: ["web"] });
  await hub.pull(away, "s", { take: true });
  away.resume("s").append(user("said away"));
  await hub.push(away, { projects: ["web"] });
  home.resume("s").append([user("said at home"), user("and more")]);

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
  const { hub, home, away } = await hubWithStores();
  const others = [away, temporaryStore()];
  home.session("s", RICH).append(talk(30));
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
  const { url, hub, home, away } = await hubWithStores(SUMMARIZED);
  const names = { sessions: ["s"] };
  await richSession(home, "s");
  await hub.push(home, names);
  const before = seen(home, "s");
  home.resume("s").rewind({ toSeq: 40 });
  home.resume("s").append([calls(["d"]), results(["d"], "another long output ".repeat(1_000)), ...talk(700)]);
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
