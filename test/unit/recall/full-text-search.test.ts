import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { indexAll, searching } from "../../support/full-text.ts";
import { expectLinearTime } from "../../support/processor-time.ts";
import { inDatabase } from "../../support/rows.ts";
import { assistant, calls, results, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

/** The same twice: with every message in the index, and with none. */
const STATES = [
  ["indexed", true],
  ["not indexed", false],
] as const;

function said(path: string, texts: readonly string[], isIndexed: boolean): Store {
  const store = openedStore(path);
  const session = store.session("s");
  for (const text of texts) session.append(user(text));
  if (isIndexed) indexAll(store);
  return store;
}

describe.each(STATES)("where messages are %s", (_, isIndexed) => {
  /** Ids of messages are their places, from 1. */
  const found = (texts: readonly string[], query: string): number[] => {
    const path = temporaryPath();
    said(path, texts, isIndexed);
    return searching(path)(query).map(({ messageId }) => messageId);
  };

  test("the score is BM25", () => {
    const path = temporaryPath();
    said(path, ["lock the lock of a region", "region deploy"], isIndexed);
    // Of 2 messages 1 has it: idf ln 2. It has it twice among 3 words, where 2.5 is the mean: 2 · 2.2 / (2 + 1.2 · 1.15).
    expect(searching(path)("locks")).toEqual([
      { messageId: 1, scores: expect.anything(), score: expect.closeTo(0.902322, 5) },
    ]);
    // "region" is in both, and its idf ln 1.2: once among 3 words and once among 2.
    expect(searching(path)("region")).toEqual([
      { messageId: 2, scores: expect.anything(), score: expect.closeTo(0.198568, 5) },
      { messageId: 1, scores: expect.anything(), score: expect.closeTo(0.168533, 5) },
    ]);
    const both = searching(path)("region lock lock");
    expect(both[0]).toMatchObject({ messageId: 1, score: expect.closeTo(0.168533 + Math.SQRT2 * 0.902322, 4) });
  });

  test("a message is found by who speaks", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s").append([user("hello there", { name: "Marisol" }), user("Marisol is away")]);
    if (isIndexed) indexAll(store);
    expect(searching(path)("marisol")).toHaveLength(2);
  });

  test("a phrase is found in the oldest of many messages, however short the others with its words are", () => {
    const others = Array.from({ length: 600 }, (_, index) => (index % 2 === 0 ? "lock session" : "session: lock"));
    expect(found(["in a longer message they speak of the session lock", ...others], '"session lock"')).toEqual([1]);
  });

  test("as many are found as are asked for", () => {
    const path = temporaryPath();
    said(
      path,
      Array.from({ length: 320 }, (_, index) => `lock ${index}`),
      isIndexed,
    );
    expect(searching(path)("lock", {}, 1_000)).toHaveLength(320);
  });

  test("what is rare is told by the project or sessions that are searched", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("a", { project: "web" }).append(user("lock region"));
    store.session("a").append(user("lock deploy"));
    for (const text of ["region one", "region two", "region three"]) {
      store.session("b", { project: "app" }).append(user(text));
    }
    if (isIndexed) indexAll(store);
    // Of the 2 messages of the project both have "lock", so the other word decides; of all 5 four have "region".
    const weightOf = (found: readonly { score: number }[]) => found[0]!.score;
    const search = searching(path);
    expect(weightOf(search("region", { project: "web" }))).toBeGreaterThan(
      weightOf(search("lock", { project: "web" })),
    );
    expect(weightOf(search("region"))).toBeLessThan(weightOf(search("lock")));
    expect(search("region", { sessionIds: ["a"] })).toEqual(search("region", { project: "web" }));
  });

  test("roles and times decide who is found, and not what a word weighs", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store
      .session("a", { project: "web" })
      .append([user("lock one", { createdAt: 1_000 }), assistant("lock second", { createdAt: 2_000 })]);
    store
      .session("b", { project: "api" })
      .append([
        calls(["c"], { createdAt: 3_000 }),
        results(["c"], 'lock three {"type":"text"}', { createdAt: 4_000 }),
        { role: "user", parts: [{ type: "data", data: { type: "file", lock: "lock" } }], createdAt: 5_000 },
      ]);
    if (isIndexed) indexAll(store);
    const search = searching(path);
    const ids = (scope: Parameters<typeof search>[1]): number[] =>
      search("lock", scope)
        .map(({ messageId }) => messageId)
        .toSorted();
    expect(ids({})).toEqual([1, 2, 4, 5]);
    expect(ids({ project: "web" })).toEqual([1, 2]);
    expect(ids({ project: "nobody's" })).toEqual([]);
    expect(ids({ sessionIds: ["b", "c"] })).toEqual([4, 5]);
    expect(ids({ sessionIds: [] })).toEqual([]);
    expect(ids({ sessionIds: ["a"], project: "api" })).toEqual([]);
    expect(ids({ roles: ["user", "tool"] })).toEqual([1, 4, 5]);
    expect(ids({ partTypes: ["text"] })).toEqual([1, 2]);
    expect(ids({ partTypes: ["file", "data"] })).toEqual([5]);
    expect(ids({ sinceMs: 2_000, untilMs: 4_000 })).toEqual([2, 4]);
    const [all] = search("second");
    expect(search("second", { roles: ["assistant"] })).toEqual([all]);
    expect(search('"lock second"', { roles: ["user"] })).toEqual([]);
  });
});

test("what is indexed and what is not is found together, and nothing is written", () => {
  const path = temporaryPath();
  const store = said(path, ["lock", "region"], true);
  store.session("s").append(user("lock"));
  const bytes = (): Buffer => readFileSync(path);
  inDatabase(path, (database) => database.pragma("wal_checkpoint(TRUNCATE)"));
  const before = bytes();
  const search = searching(path);
  const hits = search("lock");
  expect(hits.map(({ messageId }) => messageId)).toEqual([3, 1]);
  expect(hits[0]!.score).toBe(hits[1]!.score);
  expect(bytes().equals(before)).toBe(true);
  expect(readFileSync(`${path}-wal`)).toHaveLength(0);
  store.session("s").append(user("lock"));
  expect(search("lock").map(({ messageId }) => messageId)).toEqual([4, 3, 1]);
  expect(store.stats().unindexedCount).toBe(2);
});

test("a phrase may be as long as a message, and sixteen of them may be", () => {
  const path = temporaryPath();
  const long = Array.from({ length: 900 }, (_, index) => `word${index} src/a${index}.ts`).join(" ");
  said(path, [`${long} end`, `${long} stop`, "lock"], true);
  const search = searching(path);
  const ids = (query: string): number[] => search(query).map(({ messageId }) => messageId);
  const words = long.split(" ");
  expect(ids(`"${words.slice(0, 600).join(" ")}"`).toSorted()).toEqual([1, 2]);
  expect(ids(`"${words.slice(0, 600).join(",")}"`)).toEqual([]);
  expect(
    ids(Array.from({ length: 16 }, (_, at) => `"${words.slice(at * 20, at * 20 + 20).join(" ")}"`).join(" ")),
  ).toHaveLength(2);
  expect(ids(`"${"lock region.ts,".repeat(7_000)}"`)).toEqual([]);
});

test("a word that comes up later weighs as it does then", () => {
  const path = temporaryPath();
  const store = said(
    path,
    Array.from({ length: 40 }, (_, index) => `region ${index}x`),
    true,
  );
  const search = searching(path);
  expect(search("lock")).toEqual([]);
  store.session("s").append(user("lock here"));
  const [before] = search("lock");
  indexAll(store);
  expect(search("lock")[0]!.score).toBeCloseTo(before!.score, 6);
});

test("of a long query the rarest words are searched", () => {
  const path = temporaryPath();
  const texts = Array.from({ length: 200 }, (_, index) => `common ${"word".repeat(1 + (index % 3))}x n${index}n`);
  said(path, texts, true);
  const query = `common ${Array.from({ length: 500 }, (_, index) => `zz${index}zz`).join(" ")} n7n`;
  expect(searching(path)(query)[0]!.messageId).toBe(8);
});

test("what another process forgets weighs no more, also in a search that was asked before", () => {
  const path = temporaryPath();
  const store = said(path, ["lock", "lock", "region", "deploy"], true);
  const search = searching(path);
  expect(search("lock")).toHaveLength(2);
  store.forget("s", { messageIds: [1] });
  // Of 3 messages 1 has it: idf ln 2.6667. It is one word, as the others are.
  for (const again of [search, searching(path)]) {
    expect(again("lock")).toEqual([{ messageId: 2, scores: expect.anything(), score: expect.closeTo(0.980829, 5) }]);
  }
});

test.each(["DELETE FROM messages_fts_data WHERE id > 10", "DELETE FROM messages_fts_docsize WHERE id = 1"])(
  "a damaged index is a typed error where it is searched, until it is mended: %s",
  (damage) => {
    const path = temporaryPath();
    const store = said(path, ["lock", "region"], true);
    inDatabase(path, (database) => {
      database.unsafeMode(true); // else SQLite protects the tables of the index
      database.exec(damage);
    });
    const search = searching(path);
    expect(() => search("lock")).toThrow(
      expect.objectContaining({ code: "STORE_CORRUPT", hint: expect.stringContaining("verify --rebuild") }),
    );
    expect(openedStore(path, { readonly: true }).resume("s").messages()).toHaveLength(2);
    indexAll(store);
    expect(search("lock").map(({ messageId }) => messageId)).toEqual([1]);
  },
);

test("a query of any length is searched in linear time", async () => {
  const path = temporaryPath();
  said(path, ["NEAR(region, 2)"], true);
  const search = searching(path);
  const queryOf = (count: number) => `${Array.from({ length: count }, (_, index) => `w${index}x`).join(" ")} region`;
  await expectLinearTime(300, queryOf, search);
  expect(search(queryOf(15_000))).toHaveLength(1);
});
