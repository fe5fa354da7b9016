import { describe, expect, test } from "vitest";
import { type Embedder, type EmbedRequest, type Store, StoreError } from "../../../src/index.ts";
import { hashingEmbedder } from "../../../src/models/hashing-embedder.ts";
import { letterEmbedder, remoteLetters, renamedEmbedder } from "../../support/other-embedders.ts";
import { allRows, inDatabase, inSealed } from "../../support/rows.ts";
import { talk, user } from "../../support/said.ts";
import { scriptedSummarizer } from "../../support/scripted-summarizer.ts";
import { openedStore, temporaryPath, temporaryStore } from "../../support/temporary-store.ts";

const SETTINGS = { hotSize: 6, overlap: 2, evictBatch: 4, maxThemes: 3, openClustersMax: 4, resolveTokensMin: 50 };
/** A year before what the clock of a test says, so that sessions are at rest. */
const LONG_AGO = 1_668_000_000_000;

function talked(path = temporaryPath(), embedder: Embedder = hashingEmbedder): Store {
  const store = openedStore(path, { embedder, summarizer: scriptedSummarizer("good") });
  store.session("a", { ...SETTINGS, project: "p" }).append(talk(60));
  store.session("b", { ...SETTINGS, project: "p" }).append(talk(40, 3));
  return store;
}

/** What two stores must have in common: the forest in use, its log positions counted from where its generation began. */
function forestOf(store: Store): unknown[] {
  const generation = "(SELECT max(id) FROM generations)";
  const base = "(SELECT max(log_position) FROM generations)";
  return [
    `SELECT id - ${base} AS id, session_id, level, kind, node, root, score FROM unions WHERE generation = ${generation} ORDER BY id`,
    `SELECT root_id, session_id, step_count, message_count, token_count, hex(centroid_sum), vector_count, seq_first, seq_last,
       turn_last, last_at_ms, speakers, label, log_position - ${base}, settled_at - ${base} FROM clusters ORDER BY 1`,
    `SELECT root_id, session_id, cluster_count, message_count, token_count, hex(centroid_sum), vector_count, seq_first,
       seq_last, log_position - ${base} FROM themes ORDER BY 1`,
    "SELECT id, parent_id, hex(embedding), embedder_id FROM messages ORDER BY id",
  ].map((sql) => store.query(sql));
}

/** Claims of a context: shown or omitted, every message of the session once. */
function claimedCount(store: Store, sessionId: string): number {
  const { sources, omitted } = store.resume(sessionId).render({ tokensMax: 2_000 });
  return [...sources, ...omitted].reduce((sum, { messageCount }) => sum + messageCount, 0);
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (StoreError.is(error)) return error.code;
    throw error;
  }
  return "done";
}

describe("a store that is embedded again", () => {
  test("has the forest that it would have, had the new embedder been there from the start", async () => {
    const store = talked();
    const before = forestOf(store);
    const result = await store.reembed({ embedder: letterEmbedder });
    expect(result).toMatchObject({ reembedded: true, from: hashingEmbedder.id, to: "letters-96", embeddedCount: 100 });
    expect(forestOf(store)).toEqual(forestOf(talked(temporaryPath(), letterEmbedder)));
    expect(forestOf(store)).not.toEqual(before);
    expect(store.query("SELECT count(*) AS n FROM reembedded_vectors")).toEqual([{ n: 0 }]);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    expect(store.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
  });

  test("is opened with the new embedder, and with no other", async () => {
    const path = temporaryPath();
    const store = talked(path);
    await store.reembed({ embedder: letterEmbedder });
    store.close();
    expect(codeOf(() => openedStore(path))).toBe("EMBEDDER_MISMATCH");
    const again = openedStore(path, { embedder: letterEmbedder });
    expect(again.session("a").append(user("one more")).seq).toBe(60);
    expect(again.nearestRoots("parser templates tokenizer", { k: 1 })).toHaveLength(1);
  });

  test("brings its subjects back at the next upkeep", async () => {
    const [old, fresh] = [temporaryStore(), temporaryStore({ embedder: letterEmbedder })];
    for (const store of [old, fresh]) {
      for (const id of ["a", "b", "c"])
        store
          .session(id, { ...SETTINGS, project: "p" })
          .append(talk(40).map((message) => ({ ...message, createdAt: LONG_AGO })));
    }
    await old.upkeep();
    await old.reembed({ embedder: letterEmbedder });
    expect(old.query("SELECT count(*) AS n FROM clusters WHERE subject_parent_id IS NOT NULL")).toEqual([{ n: 0 }]);
    for (const store of [old, fresh]) await store.upkeep();
    const places = "SELECT root_id, subject_parent_id FROM clusters ORDER BY root_id";
    expect(old.query(places)).toEqual(fresh.query(places));
    expect(old.query(places).some(({ subject_parent_id }) => subject_parent_id !== null)).toBe(true);
    expect(old.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("answers the handles of every generation that it has had as when they were given", async () => {
    const store = talked();
    await store.upkeep();
    const handles = new Map<string, number[]>();
    const remember = (): void => {
      for (const session of ["a", "b"].map((id) => store.session(id))) {
        for (const level of ["theme", "cluster"] as const) {
          for (const { root } of session.roots({ level })) handles.set(root, idsOf(root));
        }
      }
      for (const { subject } of store.subjects()) handles.set(subject, idsOf(subject));
    };
    const idsOf = (handle: string): number[] => store.expand(handle, { limit: 1_000 }).members.map(({ id }) => id);
    remember();
    const firstCount = handles.size;
    for (const embedder of [letterEmbedder, renamedEmbedder]) {
      await store.reembed({ embedder });
      store.session("a").append(talk(12));
      await store.upkeep();
      remember();
    }
    expect(firstCount).toBeGreaterThan(5);
    expect(handles.size).toBeGreaterThan(2 * firstCount);
    for (const [handle, ids] of handles) expect([handle, idsOf(handle)]).toEqual([handle, ids]);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("forgets in the logs of all generations", async () => {
    const store = talked();
    await store.upkeep();
    const old = store
      .session("a")
      .roots()
      .map(({ root }) => root);
    await store.reembed({ embedder: letterEmbedder });
    await store.upkeep();
    store.forget("a", { messageIds: [1, 2, 7, 20] });
    const left = old.flatMap((handle) => {
      return codeOf(() => store.expand(handle)) === "done" ? store.expand(handle, { limit: 100 }).members : [];
    });
    expect(left.map(({ id }) => id)).not.toContain(2);
    expect(store.query("SELECT * FROM unions WHERE node IN (1, 2, 7, 20) OR root IN (1, 2, 7, 20)")).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    store.forget("a");
    expect(store.query("SELECT * FROM unions WHERE session_id = 'a'")).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("is verified in all its generations", async () => {
    const path = temporaryPath();
    const store = talked(path);
    const { position } = store.query("SELECT id AS position FROM unions WHERE kind = 'join' LIMIT 1")[0]!;
    await store.reembed({ embedder: letterEmbedder });
    inSealed(path, (database) => database.exec(`UPDATE unions SET root = 999, checksum = -1 WHERE id = ${position}`));
    const { ok, problems } = store.verify();
    expect(ok).toBe(false);
    expect(problems.map(({ text, rebuildable }) => [text, rebuildable])).toEqual([
      [`row ${position} of the log of generation 1 cannot have happened: no cluster has this root`, false],
    ]);
  });

  test("has its vectors also where the process that put them into use was stopped before it moved them", async () => {
    const path = temporaryPath();
    const store = talked(path);
    const stop = new AbortController();
    const { reembedded } = await store.reembed({
      embedder: letterEmbedder,
      signal: stop.signal,
      onProgress: ({ phase, doneCount }) => {
        if (phase === "switch" && doneCount === 1) stop.abort(new Error("stopped"));
      },
    });
    expect(reembedded).toBe(true);
    expect(store.session("a").append(user("it goes on")).seq).toBe(60);
    store.close();
    const again = openedStore(path, { embedder: letterEmbedder });
    const stagedCount = (): unknown => again.query("SELECT count(*) AS n FROM reembedded_vectors")[0]!.n;
    expect(stagedCount()).toBe(100);
    expect(again.verify()).toMatchObject({ ok: true, problems: [] });
    again.session("a").append(talk(14)); // what graduates now was staged
    again.forget("b", { messageIds: [61] });
    expect(again.verify({ rebuild: true })).toMatchObject({ ok: true, rebuiltCount: 0 });
    await again.upkeep();
    expect(stagedCount()).toBe(0);
    expect(again.query("SELECT DISTINCT embedder_id FROM messages")).toEqual([{ embedder_id: "letters-96" }]);
    expect(again.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("has the forests of forks that began while it grew", async () => {
    const store = openedStore(temporaryPath());
    const session = store.session("s", SETTINGS);
    session.append(talk(400));
    const seqs = [380, 200, 5];
    await store.reembed({
      embedder: letterEmbedder,
      onProgress: ({ phase, doneCount }) => {
        if (phase !== "grow" || doneCount === 0) return;
        const toSeq = seqs.pop();
        if (toSeq === undefined) return;
        const fork = session.fork({ toSeq, id: `fork ${toSeq}` });
        fork.fork({ id: `fork of fork ${toSeq}` });
      },
    });
    expect(seqs).toEqual([]);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    for (const { id, messageCount } of store.sessions()) {
      expect(claimedCount(store, id)).toBe(messageCount);
      store.resume(id).append(talk(20, 7));
    }
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });
});

describe("summaries", () => {
  test("stay where what they stand for is the same in the new forest", async () => {
    const store = talked();
    store.session("a").compact();
    await store.session("a").resolveDirty();
    store.session("a").compact();
    expect(await store.session("a").resolveDirty()).toMatchObject({ resolved: 0 });
    const shown = store.query("SELECT id, text FROM summaries WHERE shown_from IS NOT NULL AND shown_until IS NULL");
    expect(shown.length).toBeGreaterThan(1);
    expect(await store.reembed({ embedder: renamedEmbedder, dryRun: true })).toMatchObject({
      summarizedClusterCount: shown.length,
    });
    const { carriedSummaryCount } = await store.reembed({ embedder: renamedEmbedder });
    expect(carriedSummaryCount).toBe(shown.length);
    expect(store.query("SELECT id, text FROM summaries WHERE shown_until IS NULL")).toEqual(shown);
    expect(claimedCount(store, "a")).toBe(60);
    expect(await store.session("a").resolveDirty()).toMatchObject({ resolved: 0 });
  });

  test("of other themes stand no more, and every message is shown or named at once", async () => {
    const store = talked();
    await store.session("a").resolveDirty();
    store.session("a").compact();
    const count = store.query("SELECT * FROM summaries").length;
    await store.reembed({ embedder: letterEmbedder });
    expect(store.query("SELECT * FROM summaries")).toHaveLength(count);
    expect(claimedCount(store, "a")).toBe(60);
    expect(claimedCount(store, "b")).toBe(40);
    expect((await store.session("a").resolveDirty()).resolved).toBeGreaterThan(0);
    store.session("a").compact();
    expect(claimedCount(store, "a")).toBe(60);
    expect(
      store
        .session("a")
        .roots()
        .every(({ uncoveredCount }) => uncoveredCount < 60),
    ).toBe(true);
  });
});

test("a summary that was being made during the switch is not kept", async () => {
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const slow = {
    id: "slow",
    promptVersion: 1,
    summarize: async () => {
      await answered;
      return { title: "late", text: "too late" };
    },
  };
  const store = openedStore(temporaryPath(), { summarizer: slow });
  store.session("a", SETTINGS).append(talk(60));
  const resolving = store.session("a").resolveDirty();
  await store.reembed({ embedder: letterEmbedder });
  answer();
  expect(await resolving).toMatchObject({ resolved: 0, stale: expect.any(Number) });
  expect(store.query("SELECT text, status FROM summaries")).toEqual([]);
  expect(store.query("SELECT summary_count FROM session_stats")).toEqual([{ summary_count: 0 }]);
  expect(store.session("a").compact().compacted).toBe(true);
  expect(JSON.stringify(store.session("a").render())).not.toContain("too late");
  expect(claimedCount(store, "a")).toBe(60);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

describe("whoever has it open with the old embedder", () => {
  test("is refused at the next write, and goes on reading", async () => {
    const path = temporaryPath();
    const store = talked(path);
    const other = openedStore(path, { summarizer: scriptedSummarizer("good") });
    other.session("a").append(user("written by the other"));
    await store.reembed({ embedder: letterEmbedder });
    await store.upkeep();
    const rows = allRows(path);
    expect(codeOf(() => other.session("a").append(user("too late")))).toBe("EMBEDDER_MISMATCH");
    expect(codeOf(() => other.session("a").compact())).toBe("EMBEDDER_MISMATCH");
    expect(await other.upkeep()).toMatchObject({ embedded: 0, waiting: 0 }); // nothing is due, so nothing is embedded
    expect(allRows(path)).toEqual(rows);
    expect(claimedCount(other, "a")).toBe(61);
    const [hit] = await other.recall("written by the other");
    expect(hit).toMatchObject({ sessionId: "a", seq: 60 });
    expect(codeOf(() => other.nearestRoots("templates"))).toBe("EMBEDDER_MISMATCH");
  });

  test("may write until then: it is caught up with", async () => {
    const path = temporaryPath();
    const store = talked(path);
    const other = openedStore(path);
    let phases = 0;
    await store.reembed({
      embedder: letterEmbedder,
      onProgress: ({ phase, doneCount }) => {
        if (phase === "switch" && doneCount === 1) return;
        phases += 1;
        if (phase !== "switch") other.session("a").append(talk(5, phases));
        else other.session("c", SETTINGS).append(talk(30));
        if (phases === 4) other.forget("b", { messageIds: [61, 62] });
      },
    });
    expect(phases).toBeGreaterThan(6);
    expect(store.query("SELECT count(*) AS n FROM messages WHERE embedder_id <> 'letters-96'")).toEqual([{ n: 0 }]);
    expect(store.query("SELECT count(*) AS n FROM messages WHERE embedding IS NULL")).toEqual([{ n: 0 }]);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    expect(claimedCount(store, "c")).toBe(store.session("c").info().messageCount);
  });
});

test.each([
  ["local", letterEmbedder],
  ["remote", remoteLetters()],
])("this process goes on with a %s embedder from the moment of the switch", async (_, embedder) => {
  const store = talked();
  store.session("a").append(user("before")); // in memory as the old forest has it
  let appended = 0;
  let isSwitched = false;
  const timer = setInterval(() => {
    if (!isSwitched) return;
    store.session("a").append(talk(9, 2));
    appended += 1;
  }, 0);
  await store.reembed({
    embedder,
    onProgress: ({ phase, doneCount }) => {
      if (phase !== "switch" || doneCount !== 1) return;
      isSwitched = true;
      store.session("a").append(user("at once"));
    },
  });
  clearInterval(timer);
  expect(appended).toBeGreaterThan(0); // while vectors were moved
  await store.upkeep({ only: "vectors" });
  expect(store.query("SELECT DISTINCT embedder_id FROM messages")).toEqual([{ embedder_id: embedder.id }]);
  expect(store.verify()).toMatchObject({ ok: true, problems: [] });
});

describe("with the embedder in use", () => {
  test("a forest grows again with another cosine, once", async () => {
    const store = talked();
    const clusterCount = () => store.query("SELECT count(*) AS count FROM clusters")[0]!.count;
    const before = clusterCount();
    const asked = { embedder: hashingEmbedder, similarityMin: 0.95 };
    expect(await store.reembed(asked)).toMatchObject({ reembedded: true, embeddedCount: 0 });
    expect(clusterCount()).not.toBe(before);
    expect(await store.reembed(asked)).toMatchObject({ reembedded: false });
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("a process that has the store open places by the cosine that another one has chosen", async () => {
    const clustersAfter = async (isOpen: boolean): Promise<string> => {
      const path = temporaryPath();
      const open = talked(path);
      open.session("a").append(user("Read before the change."));
      const other = openedStore(path);
      await other.reembed({ embedder: hashingEmbedder, similarityMin: 0.99 });
      const store = isOpen ? open : openedStore(path);
      store.session("a").append(talk(60));
      return JSON.stringify(store.query("SELECT root_id, message_count FROM clusters ORDER BY root_id"));
    };
    expect(await clustersAfter(true)).toBe(await clustersAfter(false));
  });

  test("a forest that another version has placed grows again, once, and its handles keep their messages", async () => {
    const path = temporaryPath();
    const store = talked(path);
    await store.reembed({ embedder: hashingEmbedder, similarityMin: 0.95 });
    const held = store.session("a").roots({ level: "cluster" });
    const membersOf = (root: string) => store.expand(root, { limit: 1_000 }).members.map(({ id }) => id);
    const before = held.map(({ root }) => membersOf(root));
    inDatabase(path, (file) => file.exec("DELETE FROM store_settings WHERE name IN ('placement', 'similarityMin')"));
    const again = openedStore(path);
    expect(await again.reembed({ embedder: hashingEmbedder })).toMatchObject({ reembedded: true, embeddedCount: 0 });
    expect(again.session("a").roots({ level: "cluster" }).length).not.toBe(held.length);
    expect(held.map(({ root }) => membersOf(root))).toEqual(before);
    expect(await again.reembed({ embedder: hashingEmbedder })).toMatchObject({ reembedded: false });
    expect(again.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("upkeep grows a forest again that an older version has placed, and none of a newer one, and programs that have it open go on", async () => {
    const path = temporaryPath();
    const store = talked(path);
    await store.reembed({ embedder: hashingEmbedder, similarityMin: 0.95 });
    const generation = () => store.query("SELECT max(id) AS id FROM generations")[0]!.id;
    const before = Number(generation());
    inDatabase(path, (file) => file.exec("DELETE FROM store_settings WHERE name IN ('placement', 'similarityMin')"));
    const other = openedStore(path);
    const level = () => other.doctor().find(({ check }) => check === "embedder")!.level;
    expect(level()).toBe("advice");
    await other.upkeep();
    await other.upkeep();
    expect(level()).toBe("ok");
    expect(generation()).toBe(before + 1);
    inSealed(path, (file) =>
      file.exec("UPDATE store_settings SET value = '99', checksum = -1 WHERE name = 'placement'"),
    );
    await other.upkeep(); // a newer version has placed it
    expect(generation()).toBe(before + 1);
    store.session("a").append(talk(60));
    other.session("b").append(talk(60));
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("every vector stays as it was made, to the bit, so that verify finds nothing", async () => {
    const store = temporaryStore();
    const wordsOf = (n: number) => Array.from({ length: 20 + (n % 60) }, (_, k) => `word${(n * 31 + k * k * 7) % 977}`);
    const texts = Array.from({ length: 300 }, (_, n) => wordsOf(n).join(" "));
    store.session("a").append(texts.map((text) => user(text)));
    const vectors = () => store.query("SELECT id, hex(embedding) AS vector FROM messages ORDER BY id");
    const before = vectors();
    await store.reembed({ embedder: hashingEmbedder, similarityMin: 0.95 });
    expect(vectors()).toEqual(before);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("there is nothing to do where no message lacks a vector", async () => {
    const path = temporaryPath();
    const store = talked(path);
    store.session("a").append(user("..."));
    const rows = allRows(path);
    expect(await store.reembed({ embedder: hashingEmbedder })).toMatchObject({ reembedded: false, embeddedCount: 0 });
    expect(allRows(path)).toEqual(rows);
  });

  test("messages that came into the forest without one get theirs", async () => {
    const path = temporaryPath();
    const store = talked(path);
    const whole = forestOf(store);
    store.close();
    inDatabase(path, (database) =>
      database.exec("UPDATE messages SET embedding = NULL, embedder_id = NULL WHERE id IN (5, 9)"),
    );
    const again = openedStore(path);
    expect(await again.reembed({ embedder: hashingEmbedder, dryRun: true })).toMatchObject({
      messageCount: 100,
      toEmbedCount: 2,
      costUsd: 0,
    });
    expect(await again.reembed({ embedder: hashingEmbedder })).toMatchObject({ reembedded: true, embeddedCount: 2 });
    expect(forestOf(again)).toEqual(whole);
    expect(again.verify()).toMatchObject({ ok: true, problems: [] });
  });
});

describe("a remote embedder", () => {
  const refusal = new StoreError("MODEL_REFUSED", { model: "m", reason: "no" });
  const away = new StoreError("MODEL_UNAVAILABLE", { model: "m", reason: "away", retryAfterMs: 1 });

  test("is asked again where it is away, in batches of its size, and its usage is counted", async () => {
    const store = talked();
    const embedder = remoteLetters((request) => {
      if (request % 3 === 0) throw away;
    });
    const { usage, embeddedCount } = await store.reembed({ embedder });
    expect(embeddedCount).toBe(100);
    expect(usage).toEqual({ inputTokens: 100, outputTokens: 0, costUsd: 9 });
    expect(embedder.requests.every(({ texts, task }) => texts.length <= 10 && task === "document")).toBe(true);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("that stays away, or refuses, ends it; what it gave is not asked for again", async () => {
    const path = temporaryPath();
    const store = talked(path);
    const before = forestOf(store);
    for (const error of [away, refusal]) {
      const embedder = remoteLetters((request) => {
        if (request > 2) throw error;
      });
      await expect(store.reembed({ embedder })).rejects.toBe(error);
      expect(embedder.requests.length).toBe(8); // down to a single text and a harmless one, or six tries
    }
    expect(forestOf(store)).toEqual(before);
    expect(store.session("a").append(user("the old one serves")).seq).toBe(60);
    const embedder = remoteLetters();
    expect(await store.reembed({ embedder, dryRun: true })).toMatchObject({ messageCount: 101, toEmbedCount: 61 });
    expect(await store.reembed({ embedder })).toMatchObject({ embeddedCount: 61 });
    expect(embedder.requests.flatMap(({ texts }) => texts)).toHaveLength(61);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test.each([1, 25])(
    "that refuses %i texts in a row takes the others, and the forest does without their vectors",
    async (count) => {
      const store = talked();
      store.session("b").append(Array.from({ length: count }, (_, index) => user(`nobody wants number ${index}`)));
      const embedder = remoteLetters();
      const picky = {
        ...embedder,
        embedAll: (request: EmbedRequest) =>
          request.texts.some((text) => text.includes("nobody wants"))
            ? Promise.reject(refusal)
            : embedder.embedAll(request),
      };
      expect(await store.reembed({ embedder: picky })).toMatchObject({ reembedded: true });
      const bare = store.query("SELECT text FROM messages WHERE embedding IS NULL");
      expect(bare.filter(({ text }) => String(text).startsWith("nobody wants"))).toHaveLength(count);
      expect(bare).toHaveLength(count);
      expect(store.verify()).toMatchObject({ ok: true, problems: [] });
    },
  );

  test.each([{ status: 401 }, { status: 400, concerns: "account" as const }])(
    "that answers %o is not asked again",
    async (details) => {
      const refused = new StoreError("MODEL_REFUSED", { model: "m", reason: "no", ...details });
      const embedder = remoteLetters(() => {
        throw refused;
      });
      await expect(talked().reembed({ embedder })).rejects.toBe(refused);
      expect(embedder.requests).toHaveLength(1);
    },
  );

  test("that asks for an hour is not waited for", async () => {
    const slow = new StoreError("MODEL_UNAVAILABLE", { model: "m", reason: "quota", retryAfterMs: 3_600_000 });
    const embedder = remoteLetters(() => {
      throw slow;
    });
    await expect(talked().reembed({ embedder })).rejects.toBe(slow);
    expect(embedder.requests).toHaveLength(1);
  });

  test("answers a vector that cannot be: nothing is stored of that batch", async () => {
    const store = talked();
    const embedder = {
      ...remoteLetters(),
      embedAll: async () => Array.from({ length: 10 }, () => new Float32Array(5)),
    };
    await expect(store.reembed({ embedder })).rejects.toMatchObject({ code: "VECTOR_INVALID" });
    expect(store.query("SELECT count(*) AS n FROM reembedded_vectors")).toEqual([{ n: 0 }]);
  });

  test("leaves what came last in the hot window to get its vector as new messages do", async () => {
    const path = temporaryPath();
    const store = talked(path);
    const other = openedStore(path);
    await store.reembed({
      embedder: remoteLetters(),
      onProgress: ({ phase, doneCount }) => {
        if (phase === "switch" && doneCount === 0) other.session("a").append(user("at the last moment"));
      },
    });
    expect(store.query("SELECT text, embedder_id FROM messages WHERE embedding IS NULL")).toEqual([
      { text: "at the last moment", embedder_id: null },
    ]);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });
});

describe("what comes last to a remote store", () => {
  test("keeps the vector that it has of this very embedder", async () => {
    const path = temporaryPath();
    const embedder = remoteLetters();
    const store = talked(path, embedder);
    await store.upkeep({ only: "vectors" });
    inDatabase(path, (database) =>
      database.exec("UPDATE messages SET embedding = NULL, embedder_id = NULL WHERE id = 5"),
    );
    store.session("b").append(user("the last to be staged"));
    const other = openedStore(path, { embedder });
    await store.reembed({
      embedder: {
        ...embedder,
        async embedAll(request) {
          if (request.texts.includes("the last to be staged")) {
            other.session("a").append(user("embedded in time"));
            await other.upkeep({ only: "vectors" });
          }
          return remoteLetters().embedAll(request);
        },
      },
    });
    expect(store.query("SELECT id FROM messages WHERE embedding IS NULL")).toEqual([]);
    expect(store.stats().pendingVectorCount).toBe(0);
    expect(store.verify()).toMatchObject({ ok: true, problems: [] });
  });

  test("waits for nothing where it has nothing to embed", async () => {
    const path = temporaryPath();
    const store = talked(path);
    const other = openedStore(path);
    await store.reembed({
      embedder: remoteLetters(),
      onProgress: ({ phase, doneCount }) => {
        if (phase === "switch" && doneCount === 0) other.session("a").append([user("  "), user("words")]);
      },
    });
    expect(store.query("SELECT m.text FROM pending_vectors JOIN messages m ON m.id = message_id")).toEqual([
      { text: "words" },
    ]);
  });
});

describe("a run that is stopped", () => {
  test.each([1, 2])("after its progress was told %i times, leaves the store as it was, and goes on", async (count) => {
    const store = talked();
    const before = forestOf(store);
    const stop = new AbortController();
    let told = 0;
    const enough = new Error("enough");
    const stopped = store.reembed({
      embedder: letterEmbedder,
      signal: stop.signal,
      onProgress: () => {
        told += 1;
        if (told === count) stop.abort(enough);
      },
    });
    await expect(stopped).rejects.toBe(enough);
    expect(forestOf(store)).toEqual(before);
    store.session("b").append(talk(7));
    await store.reembed({ embedder: letterEmbedder });
    const fresh = talked(temporaryPath(), letterEmbedder);
    fresh.session("b").append(talk(7));
    expect(forestOf(store)).toEqual(forestOf(fresh));
  });

  test("by closing the store says so", async () => {
    const store = talked();
    const running = store.reembed({ embedder: letterEmbedder, onProgress: () => store.close() });
    await expect(running).rejects.toMatchObject({ code: "STORE_CLOSED" });
  });
});

test("what a run would take is told beforehand", async () => {
  const store = talked();
  const bytes = Number(store.query("SELECT sum(octet_length(text)) AS n FROM messages")[0]!.n);
  const tokenCount = Math.ceil(bytes / 4);
  expect(await store.reembed({ embedder: remoteLetters(), dryRun: true })).toEqual({
    from: hashingEmbedder.id,
    to: "remote-letters-96",
    messageCount: 100,
    toEmbedCount: 100,
    tokenCount,
    costUsd: (tokenCount / 1e6) * 0.2,
    summarizedClusterCount: 0,
  });
});

test("two runs at once come to one new generation", async () => {
  const path = temporaryPath();
  const [one, other] = [talked(path), openedStore(path)];
  const runs = await Promise.allSettled([
    one.reembed({ embedder: letterEmbedder }),
    other.reembed({ embedder: letterEmbedder }),
  ]);
  expect(runs.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled"]);
  expect(one.query("SELECT count(*) AS n FROM generations")).toEqual([{ n: 2 }]);
  expect(one.verify()).toMatchObject({ ok: true, problems: [] });
});

test("a reader may ask what it would take, and not do it", async () => {
  const path = temporaryPath();
  talked(path).close();
  const reader = openedStore(path, { readonly: true });
  expect(await reader.reembed({ embedder: letterEmbedder, dryRun: true })).toMatchObject({ toEmbedCount: 100 });
  await expect(reader.reembed({ embedder: letterEmbedder })).rejects.toMatchObject({ code: "STORE_READONLY" });
});
