import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openStore, type Store } from "../../src/index.ts";
import { hashingEmbedder } from "../../src/models/hashing-embedder.ts";
import { slow, someOf, someTo, TESTS_ALL } from "../support/effort.ts";
import { letterEmbedder } from "../support/other-embedders.ts";
import { derivedRows } from "../support/rows.ts";
import { talk, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { watchingStatements } from "../support/statements.ts";
import { copyStore } from "../support/store-files.ts";
import { temporaryFolder, temporaryPath } from "../support/temporary-store.ts";

const SETTINGS = { hotSize: 3, overlap: 1, evictBatch: 4, maxThemes: 2, openClustersMax: 2, resolveTokensMin: 50 };
const REEMBEDDING = fileURLToPath(new URL("../support/reembedding-child.ts", import.meta.url));
const APPENDING = fileURLToPath(new URL("../support/appending-child.ts", import.meta.url));

/** Opened with whichever embedder it has. */
function opened(path: string): Store {
  return openStore(path, {
    embedder: (id) => (id === letterEmbedder.id ? letterEmbedder : hashingEmbedder),
    summarizer: scriptedSummarizer("good"),
    clock: () => 1_700_000_000_000,
  });
}

async function fill(path: string, count: number): Promise<void> {
  const store = opened(path);
  store.session("a", SETTINGS).append(talk(count));
  store.session("b", SETTINGS).append(talk(count, 2));
  await store.session("a").resolveDirty();
  store.session("a").compact();
  store.close();
}

/** Sound, all of one generation, with every message shown or named, and writable. */
function expectWhole(store: Store): string {
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  for (const id of ["a", "b"]) {
    const session = store.resume(id);
    const { sources, omitted } = session.render({ tokensMax: 2_000 });
    const claimed = [...sources, ...omitted].reduce((sum, { messageCount }) => sum + messageCount, 0);
    expect(claimed).toBe(session.info().messageCount);
  }
  return store.stats().embedderId!;
}

/**
 * Goal: a process that dies at any statement of a run leaves the old forest or the new one, whole, and the next run ends
 * where a run that nobody disturbed ends.
 * Method: copy what is on the disk before the first statement, before the second, and so on; open each copy, look at it,
 * run again, and compare what is derived.
 */
test("a death before any statement leaves the old forest or the new one, and the next run ends the same", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "agent.db");
  await fill(path, 16);
  const before = derivedRows(path);
  mkdirSync(join(folder, "dead"));
  const store = opened(path);
  const { count, error } = await watchingStatements(
    (at) => copyStore(path, join(folder, "dead", `${at}.db`)),
    () => store.reembed({ embedder: letterEmbedder }),
  );
  expect(error).toBeUndefined();
  store.close();
  const after = derivedRows(path);
  expect(after).not.toEqual(before);
  const ids: { at: number; id: string }[] = [];
  for (const at of someTo(count, 10, 40)) {
    const copy = join(folder, "dead", `${at}.db`);
    const survivor = opened(copy);
    const id = expectWhole(survivor);
    ids.push({ at, id });
    expect(derivedRows(copy)).toEqual(id === letterEmbedder.id ? after : before);
    await survivor.reembed({ embedder: letterEmbedder });
    expect(expectWhole(survivor)).toBe(letterEmbedder.id);
    expect(derivedRows(copy)).toEqual(after);
    expect(survivor.query("SELECT DISTINCT embedder_id FROM messages")).toEqual([{ embedder_id: letterEmbedder.id }]);
    expect(survivor.query("SELECT * FROM reembedded_vectors")).toEqual([]);
    survivor.close();
  }
  const switched = ids.findIndex(({ id }) => id === letterEmbedder.id);
  expect(ids[switched]!.at).toBeGreaterThan(50);
  expect(new Set(ids.slice(switched).map(({ id }) => id))).toEqual(new Set([letterEmbedder.id]));
  expect(count - ids[switched]!.at).toBeGreaterThan(10); // vectors are moved after it
}, 180_000);

test("a failure before any statement leaves the old forest or the new one in file and memory, and the same store goes on", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "agent.db");
  await fill(path, 12);
  const disk = new Error("the disk is gone");
  for (let at = 1; ; at += TESTS_ALL ? 9 : 20) {
    const copy = copyStore(path, join(folder, `${at}.db`));
    const store = opened(copy);
    const { error, count } = await watchingStatements(
      (number) => {
        if (number === at) throw disk;
      },
      () => store.reembed({ embedder: letterEmbedder }),
    );
    const isSwitched = store.stats().embedderId === letterEmbedder.id; // then all that is left is upkeep's, too
    if (count >= at) expect(error).toBe(isSwitched ? undefined : disk);
    expectWhole(store);
    await store.reembed({ embedder: letterEmbedder });
    expect(expectWhole(store)).toBe(letterEmbedder.id);
    expect(store.session("a").append(user("it goes on")).appended).toBe(true);
    store.close();
    if (count < at) {
      expect(at).toBeGreaterThan(100);
      return;
    }
  }
}, 180_000);

/**
 * Goal: kills at random moments lose nothing, and each run takes up the work of those before.
 * Method: real processes, killed after so many lines of progress, which stand at other moments each time.
 */
slow(test)(
  "runs that are killed come to their end together",
  async () => {
    const path = temporaryPath();
    await fill(path, 300);
    const ends: string[] = [];
    for (const lines of someOf([1, 3, 6, 8, 11, 13, 1_000], 4)) {
      const child = spawn(process.execPath, [...process.execArgv, REEMBEDDING, path], {
        stdio: ["ignore", "pipe", "ignore"],
      });
      let count = 0;
      let last = "";
      for await (const line of createInterface({ input: child.stdout! })) {
        last = line;
        count += 1;
        if (count === lines) child.kill("SIGKILL");
      }
      ends.push(last);
      const store = opened(path);
      expectWhole(store);
      store.close();
      if (last === "done") break;
    }
    const store = opened(path);
    await store.reembed({ embedder: letterEmbedder });
    expect(expectWhole(store)).toBe(letterEmbedder.id);
    expect(store.query("SELECT count(*) AS n FROM generations")).toEqual([{ n: 2 }]);
    store.close();
    expect(ends.length).toBeGreaterThan(2);
  },
  120_000,
);

/**
 * Goal: what another process appends while the forest is grown again is acknowledged and kept, or refused.
 * Method: a process appends as fast as it can; this one runs meanwhile; the other then ends with `EMBEDDER_MISMATCH`.
 */
test("another process appends until the switch, and is refused after it", async () => {
  const path = temporaryPath();
  await fill(path, 200);
  const child = spawn(process.execPath, [...process.execArgv, APPENDING, path, "0", "100000"], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let complaint = "";
  child.stderr!.setEncoding("utf8").on("data", (text: string) => {
    complaint += text;
  });
  const acknowledged: { messageId: number; seq: number }[] = [];
  const ended = (async () => {
    for await (const line of createInterface({ input: child.stdout! })) acknowledged.push(JSON.parse(line));
  })();
  while (acknowledged.length < 30) await new Promise((resolve) => setTimeout(resolve, 10));
  const store = opened(path);
  const countBefore = acknowledged.length;
  await store.reembed({ embedder: letterEmbedder });
  await ended;
  expect(complaint).toContain("EMBEDDER_MISMATCH");
  expect(acknowledged.length).toBeGreaterThan(countBefore);
  expectWhole(store);
  const messages = store.resume("s").messages();
  expect(messages.map(({ id, seq }) => ({ messageId: id, seq }))).toEqual(
    acknowledged.map(({ messageId, seq }) => ({ messageId, seq })),
  );
  expect(store.query("SELECT DISTINCT embedder_id FROM messages WHERE embedder_id IS NOT NULL")).toEqual([
    { embedder_id: letterEmbedder.id },
  ]);
  store.close();
}, 120_000);
