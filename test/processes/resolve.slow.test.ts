import { expect, test } from "vitest";
import { geminiServer } from "../support/gemini-server.ts";
import { talk } from "../support/said.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";
import { WorkerPool } from "../support/worker-pool.ts";

const SETTINGS = { hotSize: 4, overlap: 0, evictBatch: 6, maxThemes: 8, resolveTokensMin: 20, summaryTokensMax: 60 };
const LATENCY_MS = 2_000;
/** Longer than a claim holds that is not renewed, but not long enough to give up a process that lives. */
const LATER_MS = 60_000;

const workers = new WorkerPool(2);

/**
 * Goal: two processes that resolve one store never pay for the same summary; of one that is killed at most the calls that were
 * under way are paid for again, and at once.
 * Method: a server that counts what it is asked; a process is killed while its calls are under way; another resolves what is
 * left.
 */
test("two processes pay for each summary once, and for a killed one's calls again", async () => {
  const server = await geminiServer({ afterMs: LATENCY_MS, reply: "good" });
  const path = temporaryPath();
  const store = openedStore(path, { clock: Date.now }); // or an upkeep would let the session rest, and its themes grow
  const session = store.session("s", SETTINGS);
  session.append(talk(120, 3));
  const themeCount = session.roots().length;
  expect(themeCount).toBeGreaterThanOrEqual(5);

  const [doomed, survivor] = await workers.on(path, 2, { geminiUrl: server.url });
  const resolve = { do: "resolve", session: "s", concurrency: 4 } as const;
  const dying = doomed!.run([resolve]);
  await server.arrived(4);
  const surviving = survivor!.do(resolve);
  await server.arrived(5);
  await doomed!.kill();
  await dying;
  const first = await surviving;
  const another = workers.replace(doomed!);
  await another.do({ do: "open", path, geminiUrl: server.url });
  const later = await another.do(resolve);
  expect(later).toMatchObject({ failed: 0, deferred: 0 });
  expect(later.resolved + first.resolved).toBeGreaterThan(1);

  const counts = new Map<string, number>();
  for (const { text } of server.requests) counts.set(text, (counts.get(text) ?? 0) + 1);
  const paidTwice = [...counts.values()].filter((count) => count > 1);
  // Four calls at once at most; those whose answers had been written are not made again.
  expect(paidTwice.length).toBeLessThanOrEqual(4);
  expect(paidTwice.every((count) => count === 2)).toBe(true);
  expect(counts.size).toBe(themeCount);
  expect(first).toMatchObject({ failed: 0, stale: 0 });
  expect(store.query("SELECT count(*) AS n FROM summaries WHERE status = 'done' AND stands_in = 0")).toEqual([
    { n: themeCount },
  ]);
  expect(store.query("SELECT count(*) AS n FROM summaries WHERE status = 'claimed'")).toEqual([{ n: 0 }]);
  expect(store.verify()).toMatchObject({ ok: true, problemCount: 0 });
});

/**
 * Goal: a process that is stopped in the middle of its calls, for longer than its claims last, is not paid for again.
 * Method: a process is stopped with SIGSTOP while its calls are under way. Another, whose clock is ahead, resolves the store.
 * Then the first one continues.
 */
test("what a stopped process was at is left to it", async () => {
  const server = await geminiServer({ afterMs: LATENCY_MS, reply: "good" });
  const path = temporaryPath();
  const store = openedStore(path, { clock: Date.now });
  const session = store.session("s", SETTINGS);
  session.append(talk(120, 3));
  const [stopped, other] = await workers.on(path, 2, { geminiUrl: server.url });
  const resolve = { do: "resolve", session: "s", concurrency: 4 } as const;
  const stopping = stopped!.do(resolve);
  await server.arrived(4);
  stopped!.signal("SIGSTOP");
  const claimed = store.query("SELECT count(*) AS n FROM summaries WHERE status = 'claimed'")[0]!.n;
  expect(claimed).toBeGreaterThanOrEqual(4);
  await other!.do({ do: "open", path, geminiUrl: server.url, aheadMs: LATER_MS });
  expect(await other!.do(resolve)).toMatchObject({ failed: 0, stale: 0, deferred: claimed });
  stopped!.signal("SIGCONT");
  expect(await stopping).toMatchObject({ failed: 0, stale: 0 });
  expect(new Set(server.requests.map(({ text }) => text)).size).toBe(server.requests.length);
});
