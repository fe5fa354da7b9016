import Database from "better-sqlite3";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Session, Store } from "../../src/index.ts";
import { allRows, inSealed } from "../support/rows.ts";
import { talk, user } from "../support/said.ts";
import { scriptedSummarizer } from "../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../support/temporary-store.ts";
import { WorkerPool } from "../support/worker-pool.ts";
import type { Command } from "../support/worker-process.ts";

const SMALL = { hotSize: 3, overlap: 1, evictBatch: 4, maxThemes: 2, resolveTokensMin: 50 };
const BUSY_MS = 60;
const pool = new WorkerPool(2);

/** Another connection that begins to write and stops there, as a process does that is suspended. */
function hold(path: string): Database.Database {
  const database = new Database(path, { timeout: 0 });
  onTestFinished(() => void database.close());
  database.exec("BEGIN IMMEDIATE");
  return database;
}

/** Resolves once another connection is in the middle of a write. */
async function untilLocked(path: string): Promise<void> {
  const database = new Database(path, { timeout: 0 });
  try {
    for (;;) {
      try {
        database.exec("BEGIN IMMEDIATE; ROLLBACK");
      } catch {
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  } finally {
    database.close();
  }
}

describe("while another process holds the lock", () => {
  test.each<[string, (session: Session, store: Store) => unknown]>([
    ["append", (session) => session.append(user("x"))],
    ["append of several", (session) => session.append(talk(9))],
    ["sync", (session) => session.sync([user("x")])],
    ["compact", (session) => session.compact()],
    ["resolveDirty", (session) => session.resolveDirty()],
    ["session, of a new one", (_, store) => store.session("new")],
    ["session, with other settings", (_, store) => store.session("s", { hotSize: 2 })],
    ["verify --rebuild", (_, store) => store.verify({ rebuild: true })],
  ])("%s gives up after busyTimeoutMs with STORE_BUSY, writes nothing, and works afterwards", async (_, call) => {
    const path = temporaryPath();
    openedStore(path).session("s", SMALL).append(talk(20));
    inSealed(path, (database) => database.exec("UPDATE themes SET seq_last = seq_last + 1, checksum = -1")); // something to rebuild
    const store = openedStore(path, { busyTimeoutMs: BUSY_MS, summarizer: scriptedSummarizer() });
    const session = store.resume("s");
    const before = allRows(path);
    const render = session.render({ tokensMax: 800 });
    const holder = hold(path);

    const from = performance.now();
    const refusal = await (async () => call(session, store))().catch((error) => error);
    const ms = performance.now() - from;
    expect(refusal).toMatchObject({ code: "STORE_BUSY", details: { path } });
    expect(ms).toBeGreaterThanOrEqual(BUSY_MS * 0.8); // SQLite sleeps in steps and does not begin one that ends too late
    expect(ms).toBeLessThan(BUSY_MS + 2_000);
    expect(allRows(path)).toEqual(before);
    expect(session.render({ tokensMax: 800 })).toEqual(render);

    holder.exec("ROLLBACK");
    await call(session, store);
    store.verify({ rebuild: true });
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    expect(session.append(user("after all")).seq).toBe(session.messages().length - 1);
  });

  test("everything that reads goes on, in a store that is open and in one opened now", () => {
    const path = temporaryPath();
    const store = openedStore(path, { busyTimeoutMs: BUSY_MS });
    const session = store.session("s", SMALL);
    session.append(talk(20));
    hold(path);
    for (const one of [
      store,
      openedStore(path, { readonly: true, busyTimeoutMs: BUSY_MS }),
      openedStore(path, { busyTimeoutMs: BUSY_MS }),
    ]) {
      const resumed = one.resume("s");
      expect(resumed.render({ tokensMax: 800 })).toEqual(session.render({ tokensMax: 800 }));
      expect(resumed.messages()).toHaveLength(20);
      expect(resumed.roots()).toEqual(session.roots());
      expect(one.verify().ok).toBe(true);
      expect(one.query("SELECT count(*) AS n FROM messages")).toEqual([{ n: 20 }]);
    }
  });

  test("who opens a file that is being made waits as long as any write", () => {
    const path = temporaryPath();
    hold(path); // of a file that is no store yet, and has no write-ahead log
    const from = performance.now();
    expect(() => openedStore(path, { busyTimeoutMs: BUSY_MS })).toThrow(
      expect.objectContaining({ code: "STORE_BUSY" }),
    );
    expect(performance.now() - from).toBeGreaterThanOrEqual(BUSY_MS * 0.8);
  });

  test("a busyTimeoutMs of 0 does not wait at all", () => {
    const path = temporaryPath();
    const session = openedStore(path, { busyTimeoutMs: 0 }).session("s");
    hold(path);
    expect(() => session.append(user("x"))).toThrow(expect.objectContaining({ code: "STORE_BUSY" }));
  });
});

describe("a writer in the middle of its transaction", () => {
  test("that sleeps too long costs another its append, not its session; both are there when it wakes", async () => {
    const path = temporaryPath();
    openedStore(path).session("s", SMALL).append(user("before"));
    const [sleeper, other] = await pool.on(path, 2, { busyTimeoutMs: BUSY_MS });
    const sleeping = sleeper!.do({ do: "stall", session: "s", messages: talk(5), ms: 600 });
    await untilLocked(path);
    const append: Command = { do: "append", session: "s", messages: [user("meanwhile")] };
    await expect(other!.do(append)).rejects.toMatchObject({ code: "STORE_BUSY" });
    expect(await other!.do({ do: "messages", session: "s" })).toHaveLength(1);
    await sleeping;
    expect(await other!.do(append)).toMatchObject([{ seq: 6 }]);
    expect(openedStore(path).verify()).toMatchObject({ ok: true, messageCount: 7 });
  });

  test("that dies frees the lock, and what it had begun never was", async () => {
    const path = temporaryPath();
    const session = openedStore(path).session("s", SMALL);
    session.append(talk(9));
    const before = allRows(path);
    const [dying, other] = await pool.on(path, 2);
    const stalled = dying!.run([{ do: "stall", session: "s", messages: talk(9), ms: 60_000 }]);
    await untilLocked(path);
    const waiting = other!.do({ do: "append", session: "s", messages: [user("I waited")] });
    expect(session.messages()).toHaveLength(9);
    expect(allRows(path)).toEqual(before);
    await dying!.kill();
    expect(await stalled).toEqual([]);
    expect(await waiting).toMatchObject([{ seq: 9 }]);
    expect(
      session
        .messages()
        .map(({ text }) => text)
        .slice(9),
    ).toEqual(["I waited"]);
    expect(openedStore(path).verify()).toMatchObject({ ok: true, messageCount: 10, problems: [] });
    pool.replace(dying!);
  });
});
