import { describe, expect, test } from "vitest";
import type { Session, Store } from "../../../src/index.ts";
import { claimFaults } from "../../support/claims.ts";
import { assistant, calls, results, talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

const HOUR_MS = 3_600_000;
const SMALL = { hotSize: 4, overlap: 2, evictBatch: 3 };

/** A store whose time stands still until it is told, and a second one on the same file. */
function timedStore(): { store: Store; another: () => Store; sleep: (hours: number) => void } {
  let now = Date.UTC(2026, 0, 1);
  const path = temporaryPath();
  const open = (): Store => openedStore(path, { clock: () => now, summarizer: scriptedSummarizer("good") });
  return {
    store: open(),
    another: open,
    sleep: (hours) => {
      now += hours * HOUR_MS;
    },
  };
}

function zonesOf(store: Store, sessionId = "s"): string {
  const letters = { hot: "H", overlap: "o", cold: "c" } as Record<string, string>;
  const rows = store.query(`SELECT zone FROM message_zones WHERE session_id = '${sessionId}' ORDER BY seq`);
  return rows.map(({ zone }) => letters[zone as string]).join("");
}

const openCount = (session: Session): number =>
  session.roots({ level: "cluster" }).filter((one) => !one.settled).length;

describe("a session rests", () => {
  test("once its newest message is a day old: all but the newest step is in the forest, and settled", async () => {
    const { store, sleep } = timedStore();
    const session = store.session("s", SMALL);
    session.append([...talk(3), calls(["a"]), results(["a"])]);
    sleep(24);
    await store.upkeep();
    expect([zonesOf(store), openCount(session)]).toEqual(["HHHHH", 0]);
    sleep(0.001);
    await store.upkeep();
    expect([zonesOf(store), openCount(session)]).toEqual(["oooHH", 0]);
    expect(session.roots({ level: "cluster" }).length).toBeGreaterThan(0);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("and shows the same messages word for word as before, and no other", async () => {
    const { store, sleep } = timedStore();
    const session = store.session("s", SMALL);
    for (const message of talk(20)) session.append(message);
    const before = session.render({ tokensMax: 4_000 });
    expect(zonesOf(store)).toBe("ccccccccccccoooHHHHH");
    sleep(25);
    await store.upkeep();
    expect(zonesOf(store)).toBe("ccccccccccccoooooooH");
    const after = session.render({ tokensMax: 4_000 });
    expect(after.messages.slice(-8)).toEqual(before.messages.slice(-8));
    expect(claimFaults(store, session, after)).toEqual([]);
  });

  test("once: a second upkeep writes nothing", async () => {
    const { store, sleep } = timedStore();
    store.session("s", SMALL).append(talk(20));
    sleep(25);
    await store.upkeep();
    const rows = () =>
      store.query("SELECT s.frontier_version, u.seq FROM sessions s, sqlite_sequence u WHERE u.name = 'unions'");
    const rested = rows();
    await store.upkeep();
    expect(rows()).toEqual(rested);
  });

  test("and upkeep does not look at it again until somebody speaks, goes back, or takes that back", async () => {
    const { store, another, sleep } = timedStore();
    const session = store.session("s", SMALL);
    const awake = () => store.query("SELECT session_id FROM awake_sessions").length;
    const rest = async (): Promise<void> => {
      expect(awake()).toBe(1);
      sleep(31 * 24);
      await store.upkeep();
      expect([awake(), openCount(session)]).toEqual([0, 0]);
    };
    session.append(talk(20));
    await rest();
    another().resume("s").append(user("One thing more."));
    await rest();
    session.rewind({ toSeq: 9 });
    await rest();
    session.undo();
    await rest();
    expect(store.verify().problems).toEqual([]);
  });

  test("and goes on: once they have settled, what is said next starts clusters of its own, and the window is as large as ever", async () => {
    const { store, sleep } = timedStore();
    const session = store.session("s", SMALL);
    session.append(talk(6));
    sleep(25);
    await store.upkeep();
    expect(zonesOf(store)).toBe("oooooH");
    const rested = session.roots({ level: "cluster" }).map(({ root }) => root.split("@")[0]);
    const zones = talk(8).map((message) => {
      session.append(message);
      return zonesOf(store);
    });
    expect(zones.slice(-4)).toEqual(["oooooHHHHHH", "cccccoooHHHH", "cccccoooHHHHH", "cccccoooHHHHHH"]);
    const roots = session.roots({ level: "cluster" });
    expect(roots.filter(({ settled }) => settled).map(({ root }) => root.split("@")[0])).toEqual(rested);
    expect(roots.length).toBeGreaterThan(rested.length);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("but keeps a step whose calls are not answered", async () => {
    const { store, sleep } = timedStore();
    const session = store.session("s", SMALL);
    session.append([user("Look into the lock file."), assistant("I will."), calls(["a", "b"]), results(["a"])]);
    sleep(25);
    await store.upkeep();
    expect(zonesOf(store)).toBe("ooHH");
    session.append(results(["b"]));
    expect(session.messages().at(-1)!.stepId).toBe(session.messages()[2]!.id);
  });

  test("with a single message, or none, there is nothing to do", async () => {
    const { store, sleep } = timedStore();
    store.session("empty");
    store.session("one").append(user("hello"));
    store.session("pinned").append({ role: "system", content: "Be brief." });
    sleep(25);
    await store.upkeep();
    expect(store.query("SELECT count(*) AS n FROM unions")).toEqual([{ n: 0 }]);
  });
});

describe("clusters of a session that rests", () => {
  test("stay open where people come back every other day, and the window stays as large as without rests", async () => {
    const [resting, running] = [timedStore(), timedStore()];
    const things = ["deploy pipeline region lock", "parser template token brace", "invoice billing refund tax"];
    let verbatimMax = 0;
    for (let day = 0; day < 40; day++) {
      for (const { store, sleep } of [resting, running]) {
        store.session("s", SMALL).append(user(things[day % 3]!));
        sleep(48);
      }
      await resting.store.upkeep();
      verbatimMax = Math.max(verbatimMax, zonesOf(resting.store).replaceAll("c", "").length);
    }
    expect(verbatimMax).toBe(9);
    const sessions = [resting, running].map(({ store }) => store.session("s"));
    expect(sessions.map((session) => session.roots({ level: "cluster" }).length)).toEqual([3, 3]);
    expect(openCount(sessions[0]!)).toBe(3);
    expect(resting.store.verify()).toMatchObject({ ok: true });
  });

  test("settle once nobody has spoken for longer than it lasted", async () => {
    const { store, sleep } = timedStore();
    const session = store.session("s", SMALL);
    session.append(talk(4));
    sleep(72);
    session.append(user("I am back."));
    sleep(72);
    await store.upkeep();
    expect(zonesOf(store)).toBe("ooooH");
    expect(openCount(session)).toBeGreaterThan(0);
    sleep(0.001);
    await store.upkeep();
    expect(openCount(session)).toBe(0);
  });

  test("settle after thirty days, however long it lasted", async () => {
    const { store, sleep } = timedStore();
    const session = store.session("s", SMALL);
    session.append([user("an old question", { createdAt: Date.UTC(2020, 0, 1) }), ...talk(4)]);
    sleep(30 * 24);
    await store.upkeep();
    expect(openCount(session)).toBeGreaterThan(0);
    sleep(0.001);
    await store.upkeep();
    expect(openCount(session)).toBe(0);
  });
});

describe("which sessions rest", () => {
  test("after resolveDirty those that others have left, not those this process works on, whatever their dates", async () => {
    const { store, another, sleep } = timedStore();
    const old = talk(5).map((message) => ({ ...message, createdAt: Date.UTC(2020, 0, 1) }));
    another().session("theirs", SMALL).append(old);
    store.session("ours", SMALL).append(old);
    await store.session("new", SMALL).resolveDirty();
    expect([zonesOf(store, "theirs"), zonesOf(store, "ours")]).toEqual(["ooooH", "HHHHH"]);
    sleep(23);
    await store.session("new").resolveDirty();
    expect(zonesOf(store, "ours")).toBe("HHHHH");
    sleep(2);
    await store.session("new").resolveDirty();
    expect(zonesOf(store, "ours")).toBe("ooooH");
  });

  test("with upkeep all that are due", async () => {
    const { store } = timedStore();
    store.session("ours", SMALL).append(talk(5).map((message) => ({ ...message, createdAt: 1_000 })));
    await store.upkeep();
    expect(zonesOf(store, "ours")).toBe("ooooH");
  });

  test("another process that holds the session sees that it rests, and appends to it", async () => {
    const { store, another, sleep } = timedStore();
    const session = store.session("s", SMALL);
    session.append(talk(6));
    session.render();
    sleep(25);
    await another().upkeep();
    session.append(talk(3));
    expect(zonesOf(store)).toBe("oooooHHHH");
    expect(store.verify()).toMatchObject({ ok: true });
    expect(session.render()).toEqual(another().session("s").render());
  });

  test("one in which another process has spoken since it was found due does not", async () => {
    const { store, another, sleep } = timedStore();
    for (const id of ["a", "b"]) store.session(id, SMALL).append(talk(5));
    sleep(25);
    const upkeep = store.upkeep(); // lets the first rest at once, and the second when it is its turn
    another().session("b").append(user("I am back."));
    await upkeep;
    expect([zonesOf(store, "a"), zonesOf(store, "b")]).toEqual(["ooooH", "HHHHHH"]);
  });

  test("a damaged session is left alone, and the others rest", async () => {
    const { store, another, sleep } = timedStore();
    for (const id of ["a", "b", "c"]) store.session(id, SMALL).append(talk(12));
    store.close();
    sleep(25);
    const { path } = store;
    const { default: Database } = await import("better-sqlite3");
    const database = new Database(path);
    database.exec("DELETE FROM themes WHERE session_id = 'b'");
    database.close();
    const opened = another();
    await opened.upkeep();
    expect(["a", "b", "c"].map((id) => zonesOf(opened, id).endsWith("oH"))).toEqual([true, false, true]);
  });

  test("an upkeep that is aborted, or in a store that closes, stops", async () => {
    const { store, sleep } = timedStore();
    for (const id of ["a", "b", "c"]) store.session(id, SMALL).append(talk(5));
    sleep(25);
    await expect(store.upkeep({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
    const closing = store.upkeep();
    store.close();
    await expect(closing).rejects.toMatchObject({ code: "STORE_CLOSED" });
    await expect(store.upkeep()).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });
});

describe("summaries of a session that rests", () => {
  test("are not asked for what is still shown word for word", async () => {
    const { store, sleep } = timedStore();
    const session = store.session("s", { ...SMALL, resolveTokensMin: 10 });
    session.append(talk(4));
    sleep(25);
    await store.upkeep();
    expect(zonesOf(store)).toBe("oooH");
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 });
    const findings = store.doctor().filter(({ check }) => check === "summaries");
    expect(findings).toMatchObject([{ level: "ok" }]);
    session.append(talk(6));
    expect((await session.resolveDirty()).resolved).toBeGreaterThan(0);
  });
});
