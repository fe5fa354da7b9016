import { statSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { indexTail, indexTailNow, TailIndexer } from "../../../src/ingest/index-texts.ts";
import { searchWords } from "../../../src/models/search-words.ts";
import { indexTexts } from "../../../src/store/changes/write.ts";
import { repositoriesOf, searching } from "../../support/full-text.ts";
import { inDatabase } from "../../support/rows.ts";
import { talk, user } from "../../support/said.ts";
import { openedStore, temporaryPath } from "../../support/temporary-store.ts";

function indexedIds(path: string): number[] {
  return inDatabase(path, (database) =>
    database.prepare<[], number>("SELECT rowid FROM messages_fts ORDER BY rowid").pluck().all(),
  );
}

/** A store whose messages nobody has indexed. */
function appended(count: number): { path: string; repositories: ReturnType<typeof repositoriesOf> } {
  const path = temporaryPath();
  const session = openedStore(path).session("s");
  for (let from = 0; from < count; from += 100) session.append(talk(Math.min(100, count - from)));
  const repositories = repositoriesOf(path, { readonly: false });
  repositories.database.write("test", () => repositories.fullText.clear());
  return { path, repositories };
}

describe("indexing", () => {
  test("takes a hundred messages at a time, the oldest first, until none is left, and two processes take nothing twice", () => {
    const { path, repositories } = appended(250);
    const other = repositoriesOf(path, { readonly: false });
    expect(indexTexts(repositories, searchWords)).toBe(100);
    expect(indexedIds(path)).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
    expect(indexTexts(other, searchWords)).toBe(100);
    expect(indexTexts(repositories, searchWords)).toBe(50);
    expect(indexTexts(other, searchWords)).toBe(0);
    expect(indexedIds(path)).toHaveLength(250);
    expect(openedStore(path).verify().problems).toEqual([]);
  });

  test("gives a message without words a row too, so that it is not looked at again", () => {
    const path = temporaryPath();
    openedStore(path)
      .session("s")
      .append([user("..."), user("lock"), user("🎉")]);
    const repositories = repositoriesOf(path, { readonly: false });
    expect(indexTailNow(repositories)).toBe(3);
    expect(indexTailNow(repositories)).toBe(0);
    expect(indexedIds(path)).toEqual([1, 2, 3]);
  });

  test("takes the words that came with a message, unless a transaction was undone meanwhile", async () => {
    const path = temporaryPath();
    const session = openedStore(path).session("s");
    session.append(Array.from({ length: 100 }, (_, index) => user(`lock ${index}`)));
    const repositories = repositoriesOf(path, { readonly: false });
    repositories.database.write("test", () => repositories.fullText.clear());
    const [first, ...others] = session.messages();
    const indexer = new TailIndexer(repositories);
    indexer.appended(1, [{ message: first!, words: "before" }]);
    const undone = () =>
      repositories.database.write("test", () => {
        throw new Error("undone");
      });
    expect(undone).toThrow("undone");
    indexer.appended(
      99,
      others.map((message) => ({ message, words: "key" })),
    );
    await nextTurn();
    const found = (word: string) =>
      inDatabase(path, (database) =>
        database.prepare("SELECT rowid FROM messages_fts WHERE messages_fts MATCH ?").pluck().all(word),
      );
    expect(found("lock")).toEqual([1]);
    expect(found("key")).toHaveLength(99);
    expect(found("before")).toEqual([]);
  });

  test("goes on where it stopped, also behind a message that was forgotten", () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const session = store.session("s");
    session.append([user("one lock"), user("another lock")]);
    store.verify({ rebuild: true });
    store.forget("s", { messageIds: [2] });
    session.append(user("a third lock"));
    expect(indexTailNow(repositoriesOf(path, { readonly: false }))).toBe(1);
    expect(indexedIds(path)).toEqual([1, 3]);
    expect(store.verify().problems).toEqual([]);
  });

  test("lets others in after each batch, and stops between two when it is told to", async () => {
    const { path, repositories } = appended(250);
    const stop = new AbortController();
    setImmediate(() => stop.abort(new Error("enough")));
    await expect(indexTail(repositories, { signal: stop.signal })).rejects.toThrow("enough");
    expect(indexedIds(path)).toHaveLength(100);
    expect(await indexTail(repositories)).toBe(150);
    expect(await indexTail(repositories)).toBe(0);
  });

  test("ends at the number of messages and at the time that it is given", () => {
    const { path, repositories } = appended(250);
    expect(indexTailNow(repositories, { countMax: 101 })).toBe(200);
    expect(indexTailNow(repositories, { timeMsMax: 0 })).toBe(0);
    expect(indexedIds(path)).toHaveLength(200);
  });
});

describe("the index is brought up to date", () => {
  test("at once when a hundred messages are appended together", () => {
    const store = openedStore(temporaryPath());
    store.session("s").append(talk(99));
    expect(store.stats().unindexedCount).toBe(99);
    store.session("other").append(talk(100));
    expect(store.stats().unindexedCount).toBe(0);
  });

  test("behind a hundred messages that are appended one by one", async () => {
    const store = openedStore(temporaryPath());
    const session = store.session("s");
    for (const message of talk(99)) session.append(message);
    await nextTurn();
    expect(store.stats().unindexedCount).toBe(99);
    session.append(user("the hundredth"));
    expect(store.stats().unindexedCount).toBe(100);
    await nextTurn();
    expect(store.stats().unindexedCount).toBe(0);
  });

  test("and the log is written to the file then, not by an append", async () => {
    const path = temporaryPath();
    const session = openedStore(path).session("s");
    const bytesBefore = statSync(path).size;
    for (const message of talk(300)) session.append(message);
    expect(statSync(`${path}-wal`).size).toBeGreaterThan(1_000 * 4_096);
    expect(statSync(path).size).toBe(bytesBefore);
    await nextTurn();
    expect(statSync(path).size).toBeGreaterThan(bytesBefore);
  });

  test("without waiting for another process, and behind the next append when that is done", async () => {
    const path = temporaryPath();
    const store = openedStore(path);
    const session = store.session("s");
    for (const message of talk(100)) session.append(message);
    const other = new Database(path);
    other.exec("BEGIN IMMEDIATE");
    const begun = performance.now();
    await nextTurn();
    expect(performance.now() - begun).toBeLessThan(2_500); // an append waits for 5,000
    other.exec("COMMIT");
    other.close();
    expect(store.stats().unindexedCount).toBe(100);
    session.append(user("later"));
    await nextTurn();
    expect(store.stats().unindexedCount).toBe(0);
  });

  test("without a failing append, where the index is damaged", () => {
    const path = temporaryPath();
    const session = openedStore(path).session("s");
    session.append(talk(100));
    inDatabase(path, (database) => {
      database.unsafeMode(true); // else SQLite protects the tables of the index
      database.exec("DELETE FROM messages_fts_data");
    });
    expect(session.append(talk(100))).toHaveLength(100);
    expect(session.messages()).toHaveLength(200);
  });

  test("by resolveDirty, for the whole store, and not when it is aborted", async () => {
    const path = temporaryPath();
    const store = openedStore(path);
    store.session("other").append(user("lock"));
    const session = store.session("s");
    session.append(user("lock"));
    expect(store.stats().unindexedCount).toBe(2);
    await expect(session.resolveDirty({ signal: AbortSignal.abort() })).rejects.toThrow();
    expect(store.stats().unindexedCount).toBe(2);
    await session.resolveDirty();
    expect(store.stats().unindexedCount).toBe(0);
    expect(searching(path)("lock")).toHaveLength(2);
  });

  test("when a store is closed, as far as two thousand messages", () => {
    const { path } = appended(2_150);
    openedStore(path).close();
    expect(indexedIds(path).length).toBeLessThanOrEqual(2_000);
    expect(indexedIds(path).length).toBeGreaterThanOrEqual(100);
  });

  test("not when a store is closed while another process writes; nobody waits, and nothing fails", () => {
    const path = temporaryPath();
    const store = openedStore(path, { busyTimeoutMs: 20_000 });
    store.session("s").append(user("lock"));
    const writer = new Database(path);
    writer.exec("BEGIN IMMEDIATE");
    const begun = performance.now();
    store.close();
    expect(performance.now() - begun).toBeLessThan(20_000);
    writer.exec("ROLLBACK");
    writer.close();
    expect(indexedIds(path)).toEqual([]);
    expect(searching(path)("lock")).toHaveLength(1);
  });
});
