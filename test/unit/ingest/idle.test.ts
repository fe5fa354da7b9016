import { describe, expect, test } from "vitest";
import type { Session } from "../../../src/index.ts";
import { inDatabase } from "../../support/rows.ts";
import { assistant, calls, results, talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { timedStore as timed, zonesOf } from "../../support/timed-store.ts";

const HOUR_MS = 3_600_000;
const SMALL = { hotSize: 4, overlap: 2, evictBatch: 3 };

const timedStore = () => timed({ summarizer: scriptedSummarizer("good") });

const openCount = (session: Session): number =>
  session.roots({ level: "cluster" }).filter((one) => !one.settled).length;

describe("a session rests", () => {
  test("once its newest message is a day old: all but the newest step is in the forest, and settled", async () => {
    const { store, pass } = timedStore();
    const session = store.session("s", SMALL);
    session.append([...talk(3), calls(["a"]), results(["a"])]);
    pass(24 * HOUR_MS);
    await store.upkeep();
    expect([zonesOf(store), openCount(session)]).toEqual(["HHHHH", 0]);
    pass(0.001 * HOUR_MS);
    await store.upkeep();
    expect([zonesOf(store), openCount(session)]).toEqual(["oooHH", 0]);
    expect(session.roots({ level: "cluster" }).length).toBeGreaterThan(0);
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("and upkeep does not look at it again until somebody speaks, goes back, or takes that back", async () => {
    const { store, another, pass } = timedStore();
    const session = store.session("s", SMALL);
    const awake = () => store.query("SELECT session_id FROM awake_sessions").length;
    const rest = async (): Promise<void> => {
      expect(awake()).toBe(1);
      pass(31 * 24 * HOUR_MS);
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
    const { store, pass } = timedStore();
    const session = store.session("s", SMALL);
    session.append(talk(6));
    pass(25 * HOUR_MS);
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
    const { store, pass } = timedStore();
    const session = store.session("s", SMALL);
    session.append([user("Look into the lock file."), assistant("I will."), calls(["a", "b"]), results(["a"])]);
    pass(25 * HOUR_MS);
    await store.upkeep();
    expect(zonesOf(store)).toBe("ooHH");
    session.append(results(["b"]));
    expect(session.messages().at(-1)!.stepId).toBe(session.messages()[2]!.id);
  });

  test("with a single message, or none, there is nothing to do", async () => {
    const { store, pass } = timedStore();
    store.session("empty");
    store.session("one").append(user("hello"));
    store.session("pinned").append({ role: "system", content: "Be brief." });
    pass(25 * HOUR_MS);
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
      for (const { store, pass } of [resting, running]) {
        store.session("s", SMALL).append(user(things[day % 3]!));
        pass(48 * HOUR_MS);
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
    const { store, pass } = timedStore();
    const session = store.session("s", SMALL);
    session.append(talk(4));
    pass(72 * HOUR_MS);
    session.append(user("I am back."));
    pass(72 * HOUR_MS);
    await store.upkeep();
    expect(zonesOf(store)).toBe("ooooH");
    expect(openCount(session)).toBeGreaterThan(0);
    pass(0.001 * HOUR_MS);
    await store.upkeep();
    expect(openCount(session)).toBe(0);
  });

  test("settle after thirty days, however long it lasted", async () => {
    const { store, pass } = timedStore();
    const session = store.session("s", SMALL);
    session.append([user("an old question", { createdAt: Date.UTC(2020, 0, 1) }), ...talk(4)]);
    pass(30 * 24 * HOUR_MS);
    await store.upkeep();
    expect(openCount(session)).toBeGreaterThan(0);
    pass(0.001 * HOUR_MS);
    await store.upkeep();
    expect(openCount(session)).toBe(0);
  });
});

describe("which sessions rest", () => {
  test("after resolveDirty, those that others have left, and not those that this process works on, whatever their dates", async () => {
    const { store, another, pass } = timedStore();
    const old = talk(5).map((message) => ({ ...message, createdAt: Date.UTC(2020, 0, 1) }));
    another().session("theirs", SMALL).append(old);
    store.session("ours", SMALL).append(old);
    await store.session("new", SMALL).resolveDirty();
    expect([zonesOf(store, "theirs"), zonesOf(store, "ours")]).toEqual(["ooooH", "HHHHH"]);
    pass(23 * HOUR_MS);
    await store.session("new").resolveDirty();
    expect(zonesOf(store, "ours")).toBe("HHHHH");
    pass(2 * HOUR_MS);
    await store.session("new").resolveDirty();
    expect(zonesOf(store, "ours")).toBe("ooooH");
  });

  test("with upkeep, those that this process works on, too", async () => {
    const { store } = timedStore();
    const old = talk(5).map((message) => ({ ...message, createdAt: Date.UTC(2020, 0, 1) }));
    store.session("ours", SMALL).append(old);
    await store.upkeep();
    expect(zonesOf(store, "ours")).toBe("ooooH");
  });

  test("another process that holds the session sees that it rests, and appends to it", async () => {
    const { store, another, pass } = timedStore();
    const session = store.session("s", SMALL);
    session.append(talk(6));
    pass(25 * HOUR_MS);
    await another().upkeep();
    session.append(talk(3));
    expect(zonesOf(store)).toBe("oooooHHHH");
    expect(store.verify()).toMatchObject({ ok: true });
  });

  test("one in which another process has spoken since it was found due does not", async () => {
    const { store, another, pass } = timedStore();
    for (const id of ["a", "b"]) store.session(id, SMALL).append(talk(5));
    pass(25 * HOUR_MS);
    const upkeep = store.upkeep(); // lets the first rest at once, and the second when it is its turn
    another().session("b").append(user("I am back."));
    await upkeep;
    expect([zonesOf(store, "a"), zonesOf(store, "b")]).toEqual(["ooooH", "HHHHHH"]);
  });

  test("a damaged session is left alone, and the others rest", async () => {
    const { store, another, pass } = timedStore();
    for (const id of ["a", "b", "c"]) store.session(id, SMALL).append(talk(12));
    store.close();
    pass(25 * HOUR_MS);
    inDatabase(store.path, (database) => database.exec("DELETE FROM themes WHERE session_id = 'b'"));
    const opened = another();
    await opened.upkeep();
    expect(["a", "b", "c"].map((id) => zonesOf(opened, id).endsWith("oH"))).toEqual([true, false, true]);
  });

  test("an upkeep that is aborted, or in a store that closes, stops", async () => {
    const { store, pass } = timedStore();
    for (const id of ["a", "b", "c"]) store.session(id, SMALL).append(talk(5));
    pass(25 * HOUR_MS);
    await expect(store.upkeep({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
    const closing = store.upkeep();
    store.close();
    await expect(closing).rejects.toMatchObject({ code: "STORE_CLOSED" });
    await expect(store.upkeep()).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });
});

describe("summaries of a session that rests", () => {
  test("are not asked for what is still shown word for word", async () => {
    const { store, pass } = timedStore();
    const session = store.session("s", { ...SMALL, resolveTokensMin: 10 });
    session.append(talk(4));
    pass(25 * HOUR_MS);
    await store.upkeep();
    expect(zonesOf(store)).toBe("oooH");
    expect(await session.resolveDirty()).toEqual({ resolved: 0, failed: 0, stale: 0, parked: 0, deferred: 0 });
    const findings = store.doctor().filter(({ check }) => check === "summaries");
    expect(findings).toMatchObject([{ level: "ok" }]);
    session.append(talk(6));
    expect((await session.resolveDirty()).resolved).toBeGreaterThan(0);
  });
});
