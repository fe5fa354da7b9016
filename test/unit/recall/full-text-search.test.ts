import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Store } from "../../../src/index.ts";
import { runs } from "../../support/effort.ts";
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

  test("a message is found by other forms of its words, by pieces of its names, without accents", () => {
    const texts = ["we decided", "see src/fooBar.ts:12", "un café", "セッションを閉じる", "nothing of it"];
    expect(found(texts, "deciding")).toEqual([1]);
    expect(found(texts, "fooBar")).toEqual([2]);
    expect(found(texts, "bar")).toEqual([2]);
    expect(found(texts, "cafes")).toEqual([3]);
    expect(found(texts, "セッション")).toEqual([4]);
  });

  test("a message in which nothing tells is found by the words that it has", () => {
    expect(found(["do it again", "lock it"], "do it")).toEqual([1]);
  });

  test("a message is found by who speaks", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("s").append([user("hello there", { name: "Marisol" }), user("Marisol is away")]);
    if (isIndexed) indexAll(store);
    expect(searching(path)("marisol")).toHaveLength(2);
  });

  test("of equals the newest comes first", () => {
    expect(found(["lock", "lock", "region", "lock"], "lock")).toEqual([4, 2, 1]);
  });

  test("only messages with every phrase are found, letter by letter", () => {
    const texts = [
      "the session lock is stale",
      "lock the session",
      "a SESSION\n LOCK",
      "sessions locked",
      "session unlock",
    ];
    expect(found(texts, '"session lock"').toSorted()).toEqual([1, 3]);
    expect(found(texts, 'stale "session lock" lock')[0]).toBe(1);
    expect(found(texts, '"session lock" "stale"')).toEqual([1]);
    expect(found(texts, '"session lock" "nowhere"')).toEqual([]);
  });

  test("a phrase is found in the oldest of many messages, however short the others with its words are", () => {
    const others = Array.from({ length: 600 }, (_, index) => (index % 2 === 0 ? "lock session" : "session: lock"));
    expect(found(["in a longer message they speak of the session lock", ...others], '"session lock"')).toEqual([1]);
  });

  test("a phrase may begin and end within names", () => {
    const texts = [
      "see a/b/session lock/x.ts",
      "the mySession lockFile.now",
      "session src/lock.ts",
      "session the lock",
      "a session-lock lock",
    ];
    expect(found(texts, '"session lock"').toSorted()).toEqual([1, 2]);
    expect(found(texts, '"the mySession"')).toEqual([2]);
  });

  test("a phrase begins and ends with whole words if any has them, and a path may go on in another script", () => {
    expect(found(["datastore deploy failed", "the store deploy", "pre.foobar.config"], '"store" deploy')).toEqual([2]);
    expect(found(["pre.foobar.config deploy"], '"fooBar.config" deploy')).toEqual([1]);
    expect(found(["see src/lib/文件.ts", "eyed it"], '"lib/文件.ts"')).toEqual([1]);
    expect(found(["see src/lib/文件.ts", "eyed it"], "eyed")).toEqual([2]);
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

  test("a phrase of stop words is seen beside words that tell", () => {
    const texts = ["lock it as it is", "lock it", "as it is"];
    expect(found(texts, 'lock "as it is"')).toEqual([1]);
    expect(found(texts, '"as it is"')).toEqual([3]);
  });

  test.each(["?!", "🎉", "\0", '"', '"!"', "\ud800", "quux"])("nothing is found for %j, and nothing fails", (query) => {
    expect(found(["lock it", "..."], query)).toEqual([]);
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

  test("at most so many are found as are asked for, the best", () => {
    const path = temporaryPath();
    said(path, ["lock", "lock lock", "lock lock lock and a region", "region"], isIndexed);
    expect(searching(path)("lock", {}, 2).map(({ messageId }) => messageId)).toEqual(
      searching(path)("lock")
        .slice(0, 2)
        .map(({ messageId }) => messageId),
    );
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

test("an empty store holds nothing", () => {
  const path = temporaryPath();
  openedStore(path);
  expect(searching(path)("lock")).toEqual([]);
});

test("a damaged index is a typed error that says what mends it, and only where it is searched", () => {
  const path = temporaryPath();
  const store = said(path, ["lock", "region"], true);
  inDatabase(path, (database) => {
    database.unsafeMode(true); // else SQLite protects the tables of the index
    database.exec("DELETE FROM messages_fts_data WHERE id > 10");
  });
  const search = searching(path);
  expect(() => search("lock")).toThrow(
    expect.objectContaining({ code: "STORE_CORRUPT", hint: expect.stringContaining("verify --rebuild") }),
  );
  expect(openedStore(path, { readonly: true }).resume("s").messages()).toHaveLength(2);
  indexAll(store);
  expect(searching(path)("lock")).toHaveLength(1);
});

/** Goal: no query fails, and none takes long. Method: nasty texts, among them one of 100 KB, over an index and a tail. */
test("any text can be searched for", async () => {
  const path = temporaryPath();
  const store = said(path, ["lock the session", "NEAR(region, 2)"], true);
  store.session("s").append(user("deploy AND lock"));
  const search = searching(path);
  const nasty = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      '"',
      '""',
      "'",
      "*",
      "\0",
      "\ud800",
      "🎉",
      "NOT",
      "NEAR(",
      ")",
      ":",
      "words:",
      "^",
      "%",
      "lock",
      "😀 ok",
    ),
  );
  let hitCount = 0;
  fc.assert(
    fc.property(fc.array(nasty, { minLength: 1, maxLength: 12 }), (pieces) => {
      const query = `${pieces.join(" ")}.`;
      hitCount += search(query).length;
    }),
    { numRuns: runs(150) },
  );
  expect(hitCount).toBeGreaterThan(10);
  const queryOf = (count: number) => `${Array.from({ length: count }, (_, index) => `w${index}x`).join(" ")} region`;
  await expectLinearTime(300, queryOf, search);
  expect(search(queryOf(15_000))).toHaveLength(1);
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

test("a message is forgotten by the search as well, and weighs no more", () => {
  const path = temporaryPath();
  const store = said(path, ["lock", "lock", "region", "deploy"], true);
  store.forget("s", { messageIds: [1] });
  // Of 3 messages 1 has it: idf ln 2.6667. It is one word, as the others are.
  expect(searching(path)("lock")).toEqual([
    { messageId: 2, scores: expect.anything(), score: expect.closeTo(0.980829, 5) },
  ]);
});

test("what another process forgets weighs no more in a search that was asked before", () => {
  const path = temporaryPath();
  const store = said(path, ["lock", "lock", "region", "deploy"], true);
  const search = searching(path);
  expect(search("lock")).toHaveLength(2);
  store.forget("s", { messageIds: [1] });
  expect(search("lock")).toEqual(searching(path)("lock"));
});

test("where the index is damaged a search says so, and goes on when it is mended", () => {
  const path = temporaryPath();
  const store = said(path, ["lock", "region"], true);
  inDatabase(path, (database) => {
    database.unsafeMode(true); // else SQLite protects the tables of the index
    database.exec("DELETE FROM messages_fts_docsize WHERE id = 1");
  });
  const search = searching(path);
  expect(() => search("lock")).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
  store.verify({ rebuild: true });
  expect(search("lock").map(({ messageId }) => messageId)).toEqual([1]);
});

test("of a long query the rarest words are searched", () => {
  const path = temporaryPath();
  const texts = Array.from({ length: 200 }, (_, index) => `common ${"word".repeat(1 + (index % 3))}x n${index}n`);
  said(path, texts, true);
  const query = `common ${Array.from({ length: 500 }, (_, index) => `zz${index}zz`).join(" ")} n7n`;
  expect(searching(path)(query)[0]!.messageId).toBe(8);
});
