import { describe, expect, test, vi } from "vitest";
import type { Store } from "../../../src/index.ts";
import { MessageRepository } from "../../../src/store/facts/messages.ts";
import { slow } from "../../support/effort.ts";
import { calls, results, talk, user } from "../../support/said.ts";
import { scriptedEmbedder } from "../../support/scripted-embedder.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";
import { timedStore, zonesOf } from "../../support/timed-store.ts";

const MINUTE_MS = 60_000;
const WAIT_MS = 4 * 60 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
const SMALL = { hotSize: 4, overlap: 2, evictBatch: 3 };

/** A store whose embedder is elsewhere. */
function timed() {
  const embedder = scriptedEmbedder();
  const timed = timedStore({ embedder, summarizer: scriptedSummarizer("good") });
  return { ...timed, embedder, session: timed.store.session("s", SMALL) };
}

function expectWhole(store: Store): void {
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  const before = store.query("SELECT root_id, hex(centroid_sum) AS sum, vector_count FROM clusters ORDER BY 1");
  store.verify({ rebuild: true });
  expect(store.query("SELECT root_id, hex(centroid_sum) AS sum, vector_count FROM clusters ORDER BY 1")).toEqual(
    before,
  );
}

describe("a window whose vectors are due", () => {
  test("stays, and moves where it would have been once they are there", async () => {
    const { store, session } = timed();
    for (const message of talk(12)) session.append(message);
    expect(zonesOf(store)).toBe("HHHHHHHHHHHH");
    await store.upkeep({ only: "vectors" });
    expect(zonesOf(store)).toBe("ooooooooHHHH");
    session.append(user("and on"));
    expect(zonesOf(store)).toBe("ooooooooHHHHH");
    expect(store.query("SELECT sum(vector_count) AS n FROM clusters")).toEqual([{ n: 8 }]);
    expectWhole(store);
  });

  test("grows the forest that a local embedder of the same vectors would have grown", async () => {
    const { store, session } = timed();
    for (const message of talk(60)) {
      session.append(message);
      await store.upkeep({ only: "vectors" });
    }
    const local = openedStore(temporaryPath());
    for (const message of talk(60)) local.session("s", SMALL).append(message);
    const log = "SELECT level, kind, node, root FROM unions ORDER BY id";
    // A message's own vector is not there when it moves the frontier, and it stays hot all the same.
    expect(store.query(log)).toEqual(local.query(log));
  });

  test("is the same for another process", async () => {
    const { store, session, another } = timed();
    for (const message of talk(12)) session.append(message);
    const other = another();
    other.session("s").append(user("from elsewhere"));
    await other.upkeep({ only: "vectors" });
    session.append(user("from here"));
    expect(zonesOf(store)).toBe("oooooooooHHHHH");
    expect(other.session("s").render().sources).toHaveLength(14);
    expectWhole(other);
  });

  test("lets a step go without its vector after four hours", () => {
    const { store, session, pass } = timed();
    for (const message of talk(30)) session.append(message);
    pass(WAIT_MS - 1);
    session.append(user("almost four hours later"));
    expect(zonesOf(store)).toBe("H".repeat(31));
    pass(1);
    session.append(user("four hours later"));
    expect(zonesOf(store)).toBe(`${"o".repeat(28)}HHHH`);
    expect(store.stats()).toMatchObject({ withoutVectorCount: 28, pendingVectorCount: 4 });
    expect(store.query("SELECT DISTINCT vector_count FROM clusters")).toEqual([{ vector_count: 0 }]);
    expectWhole(store);
  });

  slow(test)("lets a step go without its vector after 5,000 newer messages", () => {
    const { store, session } = timed();
    session.append(talk(5_002));
    expect(store.query("SELECT cold_count FROM session_stats")).toEqual([{ cold_count: 0 }]);
    session.append(user("one more than a batch before them"));
    expect(store.query("SELECT graduated_seq FROM sessions")).toEqual([{ graduated_seq: 3 }]);
    expect(store.stats()).toMatchObject({ withoutVectorCount: 3, pendingVectorCount: 5_000 });
    expectWhole(store);
  });

  test("is not read again by each append that finds it waiting", () => {
    const { session } = timed();
    session.append(talk(200));
    const graduating = vi.spyOn(MessageRepository.prototype, "graduating");
    for (const message of talk(12)) session.append(message);
    const rowsRead = graduating.mock.results.map(({ value }) => value.length);
    graduating.mockRestore();
    expect(rowsRead).toEqual([8, 8]);
  });

  test("drops a vector that comes after its message has gone into the forest", async () => {
    const { store, session, embedder, pass } = timed();
    session.append(talk(30));
    let answer = (): void => {};
    embedder.before = () => new Promise((resolve) => (answer = resolve));
    const embedding = store.upkeep({ only: "vectors", concurrency: 1 });
    await new Promise((resolve) => setImmediate(resolve));
    pass(WAIT_MS);
    session.append(user("four hours later"));
    embedder.before = () => {};
    answer();
    expect(await embedding).toMatchObject({ embedded: 31 - 27, waiting: 0 });
    expect(store.query("SELECT count(*) AS n FROM messages WHERE seq < 27 AND embedding IS NOT NULL")).toEqual([
      { n: 0 },
    ]);
    expectWhole(store);
  });

  test("is compacted up to the first that waits", async () => {
    const { store, session } = timed();
    for (const message of talk(6)) session.append(message);
    await store.upkeep({ only: "vectors" });
    session.append([calls(["a"]), results(["a"]), ...talk(6)]);
    expect(session.pressure().compactableTokens).toBeGreaterThan(0);
    session.compact();
    expect(zonesOf(store)).toBe("ccccccHHHHHHHH");
    expect(session.compact()).toEqual({ compacted: false, reason: "nothing_to_compress" });
    expectWhole(store);
  });
});

describe("a session that waits for vectors", () => {
  test("keeps its newest messages out of the forest while idle, until the vectors are there", async () => {
    const { store, session, embedder, pass } = timed();
    session.append(talk(4));
    pass(2 * DAY_MS);
    embedder.before = () => {
      throw new Error("away");
    };
    await store.upkeep();
    expect(zonesOf(store)).toBe("HHHH");
    embedder.before = () => {};
    pass(DAY_MS);
    await store.upkeep();
    expect(zonesOf(store)).toBe("oooH");
    expect(store.query("SELECT sum(vector_count) AS n FROM clusters")).toEqual([{ n: 3 }]);
  });

  test("waits for thirty days, and then goes without", async () => {
    const { store, session, embedder, pass } = timed();
    session.append(talk(4));
    embedder.before = () => {
      throw new Error("away");
    };
    pass(29 * DAY_MS);
    await store.upkeep();
    expect(zonesOf(store)).toBe("HHHH");
    pass(2 * DAY_MS);
    await store.upkeep();
    expect(zonesOf(store)).toBe("oooH");
    expect(store.stats()).toMatchObject({ withoutVectorCount: 3, pendingVectorCount: 1 });
    expectWhole(store);
  });

  test("grows clusters without vectors that can be summarized, found by words, placed, and forgotten", async () => {
    const { store, session, embedder, pass } = timed();
    embedder.before = () => {
      throw new Error("away");
    };
    session.append(talk(40));
    store.session("t", SMALL).append(talk(40));
    pass(40 * DAY_MS);
    await store.upkeep();
    expect(store.stats().clusterCount).toBeGreaterThan(0);
    await session.resolveDirty();
    session.compact();
    expect(session.roots().every(({ label }) => label !== "")).toBe(true);
    expect(store.nearestRoots(new Float32Array(384).fill(1))).toEqual([]);
    expect((await store.recall("currency of invoices"))[0]!.text).toContain("currency");
    expect(store.subjects()).toEqual([]);
    expectWhole(store);
    store.forget("s", { messageIds: [1, 2, 3] });
    expectWhole(store);
    embedder.before = () => {};
    pass(DAY_MS);
    session.append(talk(30));
    await store.upkeep({ only: "vectors" });
    session.compact();
    expect(store.nearestRoots(new Float32Array(384).fill(1)).length).toBeGreaterThan(0);
    expectWhole(store);
  });
});
